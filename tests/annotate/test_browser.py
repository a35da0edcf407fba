"""The page in a real browser, by keyboard and by mouse."""

from __future__ import annotations

import csv
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from gcbr.annotate.project import Project
from gcbr.annotate.settings import Wishes
from gcbr.datasets import load_dataset

SHOWN = "#node-name"


def press(page: Any, key: str) -> None:
    """Press a key and wait until the page has moved on to another node."""
    before = page.inner_text(SHOWN)
    page.keyboard.press(key)
    expect(page.locator(SHOWN)).not_to_have_text(before, timeout=30_000)


def node_of(page: Any, papers: Any) -> int:
    return int(page.inner_text(SHOWN).removeprefix("paper-"))


def key_of(page: Any, papers: Any) -> str:
    """The key of the true class."""
    return str(papers.classes.index(papers.truth[node_of(page, papers)]) + 1)


def test_ten_nodes_by_keyboard_undo_skip_new_class_correct_reload_export(
    served: Any, papers: Any, new_page: Any, until: Any, tmp_path: Path
) -> None:
    page = new_page(served)
    project: Project = served.project
    for _ in range(10):
        press(page, key_of(page, papers))
    assert project.num_labels() == 10
    assert all(papers.truth[node] == label for node, label in project.labels().items())

    # Undo: the tenth comes back, and is answered again.
    tenth = list(project.labels())[-1]
    press(page, "u")
    assert node_of(page, papers) == tenth
    assert project.num_labels() == 9
    press(page, key_of(page, papers))

    # Skip.
    skipped = node_of(page, papers)
    press(page, "s")
    assert project.standing(skipped).is_skipped

    # A new class: its dialog takes letters that are keys elsewhere.
    newest = node_of(page, papers)
    page.keyboard.press("n")
    page.keyboard.type("sun")
    page.keyboard.press("Enter")
    page.wait_for_selector("#classes button:has-text('sun')")
    assert project.labels()[newest] == "sun"
    assert project.num_labels() == 11

    # Reload: everything is where it was.
    shown = page.inner_text(SHOWN)
    page.reload()
    page.wait_for_selector("#main[data-state=ready]")
    assert page.inner_text(SHOWN) == shown
    expect(page.locator("#labels-given")).to_have_text("11")
    expect(page.locator("#skipped")).to_have_text("1 node skipped")

    # Correct one on the labels page, and withdraw another.
    page.click("nav >> text=Labels")
    row = page.locator(f"tr:has-text('paper-{newest:03}')")
    row.locator("select").select_option("theory")
    page.wait_for_selector("#toast:has-text('Corrected')")
    assert project.labels()[newest] == "theory"
    page.locator(f"tr:has-text('paper-{tenth:03}') >> text=Withdraw").click()
    page.wait_for_selector("#toast:has-text('Withdrawn')")
    assert tenth not in project.labels()
    page.click("#toast >> text=Undo")
    page.wait_for_selector("#toast:has-text('Undone')")
    assert tenth in project.labels()

    # Export, and fetch the file.
    page.click("[data-format=csv]")
    with page.expect_download() as download:
        page.click("#files a", timeout=60_000)
    download.value.save_as(tmp_path / "labels.csv")
    with (tmp_path / "labels.csv").open(newline="") as file:
        rows = {row["node"]: row["label"] for row in csv.DictReader(file) if row["label"]}
    assert rows == {f"paper-{node:03}": label for node, label in project.labels().items()}


ATTACKS = (
    '<img src=x onerror="window.hacked = 1">',
    "<script>window.hacked = 1</script>",
    '"><svg onload=window.hacked=1>',
    "{{ 7 * 7 }} ${7 * 7} javascript:window.hacked=1",
)


def test_script_in_a_nodes_text_or_in_a_class_stays_text(
    make_papers: Any, tmp_path: Path, serve: Any, new_page: Any
) -> None:
    text = "\n".join(ATTACKS)
    papers = make_papers(num_papers=12, abstracts=dict.fromkeys(range(12), text))
    with papers.open(tmp_path / "p.gcbr", classes=("<b>bold</b>", "plain"), budget=12) as project:
        served = serve(project)
        page = new_page(served, "<i>Eve</i>")
        assert page.inner_text("#attributes .long:has-text('abstract') dd") == text
        assert page.inner_text(".who") == "<i>Eve</i>"
        press(page, "1")
        page.keyboard.press("n")
        page.keyboard.type(ATTACKS[0])
        page.keyboard.press("Enter")
        page.wait_for_selector("#classes button >> nth=2")
        assert page.inner_text("#classes button >> nth=2 >> .class-name") == ATTACKS[0]
        page.click(".neighbors summary")
        page.click(".neighbor >> nth=0")
        page.wait_for_selector("#peek[open]")
        assert text in page.inner_text("#peek-attributes")
        page.goto(f"{served.base}/labels")
        page.wait_for_selector("#rows tr")
        assert page.inner_text("#rows tr >> nth=1 >> .picker option:checked") == "<b>bold</b>"
        assert page.evaluate("window.hacked") is None
        assert page.locator("#main img, #main b, #main i:not(.shades i), #main script").count() == 0


# Presses a key six times, and measures how long it takes until the next node is shown.
PRESS = """async () => {
    const name = document.querySelector("#node-name");
    const waits = [];
    for (let turn = 0; turn < 6; turn++) {
        const before = name.textContent;
        const began = performance.now();
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true }));
        while (name.textContent === before) await new Promise((go) => setTimeout(go, 1));
        waits.push(performance.now() - began);
        await new Promise((go) => setTimeout(go, 300));
    }
    return waits;
}"""


def test_with_a_hundred_thousand_nodes_the_page_answers_as_with_a_few(
    served: Any, tmp_path: Path, serve: Any, new_page: Any
) -> None:
    """Held against a small graph at the same moment: a time alone would measure the machine's other work."""
    few = statistics.median(new_page(served).evaluate(PRESS))
    dataset = load_dataset("synthetic:nodes=100000,classes=5,features=32,degree=10")
    wishes = Wishes(classes=dataset.class_names, budget=100)
    with Project.open(tmp_path / "p.gcbr", dataset.graph, wishes) as project:
        many = statistics.median(new_page(serve(project)).evaluate(PRESS))
        assert project.num_labels() == 6
    assert many < 4 * few + 50, f"{many:.0f} ms with 100,000 nodes, {few:.0f} ms with 240"


def test_a_full_disk_keeps_the_answer_on_the_page_until_it_is_saved(
    served: Any, papers: Any, new_page: Any
) -> None:
    page = new_page(served, caught=True)
    shown = page.inner_text(SHOWN)
    problem = '{"detail": "Nothing was saved: the disk is full."}'
    page.route("**/api/answers", lambda route: route.fulfill(status=507, body=problem))
    page.keyboard.press("2")
    page.wait_for_selector("#alert:has-text('Nothing was saved')")
    assert page.inner_text(SHOWN) == shown
    page.unroute("**/api/answers")
    page.click("#alert-retry")
    expect(page.locator(SHOWN)).not_to_have_text(shown, timeout=30_000)
    assert page.is_hidden("#alert")
    assert list(served.project.labels().values()) == [papers.classes[1]]
    new_page.complaints.clear()  # the browser notes the refused request


def test_a_look_that_began_before_a_failed_answer_does_not_hide_its_alert(served: Any, new_page: Any) -> None:
    """The page looks by itself now and then: its reply may come after the answer's."""
    page = new_page(served, caught=True)
    held: list[Any] = []
    page.route(re.compile("/api/(state|turn)$"), lambda route: held.append(route))
    for _ in range(300):
        if held:
            break
        page.wait_for_timeout(50)
    page.route("**/api/answers", lambda route: route.fulfill(status=507, body='{"detail": "Full."}'))
    page.keyboard.press("2")
    page.wait_for_selector("#alert:has-text('Full.')")
    with page.expect_response("**/api/*"):
        held.pop().continue_()
    page.wait_for_timeout(200)  # what the page does with the reply
    assert page.is_visible("#alert-retry")
    new_page.complaints.clear()


def test_a_lost_reply_is_answered_once(served: Any, new_page: Any) -> None:
    """The answer arrives, its reply does not: sent again, it is still one."""
    page = new_page(served, caught=True)
    shown = page.inner_text(SHOWN)

    def lose(route: Any) -> None:
        route.fetch()
        route.abort()

    page.route("**/api/answers", lose, times=1)
    page.keyboard.press("1")
    page.wait_for_selector("#alert:has-text('The server does not answer')")
    assert served.project.num_labels() == 1
    page.click("#alert-retry")
    expect(page.locator(SHOWN)).not_to_have_text(shown, timeout=30_000)
    assert served.project.num_labels() == 1
    new_page.complaints.clear()


def test_two_people_at_once_settle_a_dispute(papers: Any, tmp_path: Path, serve: Any, new_page: Any) -> None:
    with papers.open(tmp_path / "p.gcbr", overlap=1.0) as project:
        served = serve(project)
        ada = new_page(served, "Ada")
        first = ada.inner_text(SHOWN)
        press(ada, "1")
        bob = new_page(served, "Bob")
        assert bob.inner_text(SHOWN) == first
        assert "Somebody has answered" in bob.inner_text("#overline")
        assert (
            bob.locator("#classes .share").count() == 0
        )  # he shall not see what was learned from her answer
        press(bob, "2")
        bob.goto(f"{served.base}/labels")
        bob.click("#disputes >> text=Bob")
        bob.wait_for_selector("#toast:has-text('Corrected')")
        assert list(project.labels().values()) == [papers.classes[1]]
        bob.wait_for_selector("#disputes", state="hidden")


def test_the_end_is_shown_and_can_be_put_off(papers: Any, tmp_path: Path, serve: Any, new_page: Any) -> None:
    with papers.open(tmp_path / "p.gcbr", budget=2) as project:
        page = new_page(serve(project))
        press(page, "1")
        page.keyboard.press("2")
        page.wait_for_selector("#main[data-state=finished]")
        assert page.inner_text("#finished-title") == "2 labels given"
        page.click("#more")
        page.wait_for_selector("#main[data-state=ready]")
        assert project.settings.budget == 22


def test_a_project_without_classes_asks_for_the_first(
    papers: Any, tmp_path: Path, serve: Any, new_page: Any
) -> None:
    with papers.open(tmp_path / "p.gcbr", classes=()) as project:
        page = new_page(serve(project))
        assert page.is_visible("#no-classes")
        page.click("#new-class")
        page.fill("#class-name", "theory")
        page.click("text=Label with it")
        page.wait_for_selector("#classes button:has-text('theory')")
        assert page.is_hidden("#no-classes")
        assert list(project.labels().values()) == ["theory"]


def test_everything_has_a_name_for_screen_readers_and_a_place_for_the_keyboard(
    served: Any, new_page: Any
) -> None:
    page = new_page(served)
    for path in ("/", "/labels"):
        page.goto(f"{served.base}{path}")
        page.wait_for_timeout(300)
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("button, a, input, select, summary, [role=region]")]
                .filter((one) => one.checkVisibility())
                .filter((one) => !one.getAttribute("aria-label") && !one.labels?.length)
                .filter((one) => !one.textContent.trim())
                .map((one) => one.outerHTML)"""
        )
        assert nameless == []
    page.goto(f"{served.base}/")
    page.wait_for_selector("#main[data-state=ready]")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.dataset.label || ''"))
    assert {
        "new-class",
        "skip",
        "undo",
        "predictions",
        "zoom-in",
        "databases",
        "theory",
        "attributes",
    } <= reached
    assert page.evaluate("document.querySelector('#toast').getAttribute('aria-live')") == "polite"


def test_the_keyboard_stays_on_a_button_that_is_drawn_again(served: Any, new_page: Any) -> None:
    held = "document.activeElement.dataset.label ?? document.activeElement.getAttribute('aria-label')"
    page = new_page(served)
    page.focus("#classes [data-label=vision]")
    press(page, "Enter")
    assert page.evaluate(held) == "vision"
    shown = page.inner_text(SHOWN)
    page.keyboard.down("Enter")
    expect(page.locator(SHOWN)).not_to_have_text(shown, timeout=30_000)
    for _ in range(3):
        page.keyboard.down("Enter")  # held down
    page.keyboard.up("Enter")
    assert served.project.num_labels() == 2

    node = next(iter(served.project.labels()))
    page.goto(f"{served.base}/labels")
    picker = page.locator(f"select[aria-label='Class of paper-{node:03}']")
    picker.focus()
    picker.select_option("theory")
    page.wait_for_selector("#toast:has-text('Corrected')")
    expect(picker).to_have_value("theory")
    assert page.evaluate(held) == f"Class of paper-{node:03}"


@pytest.mark.parametrize("width", [1280, 1024, 390])
def test_no_page_is_wider_than_the_screen(served: Any, new_page: Any, width: int) -> None:
    page = new_page(served)
    page.set_viewport_size({"width": width, "height": 800})
    for path in ("/", "/labels", "/docs"):
        page.goto(f"{served.base}{path}")
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_predictions_can_be_hidden(served: Any, papers: Any, new_page: Any, until: Any) -> None:
    page = new_page(served)
    for _ in range(3):
        press(page, key_of(page, papers))
    until(lambda: served.project.num_behind() == 0)
    page.reload()
    page.wait_for_selector("#classes .share")
    page.keyboard.press("p")
    assert page.locator("#classes .share").count() == 0
    assert page.get_attribute("#predictions", "aria-pressed") == "false"
