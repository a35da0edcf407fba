"""Every state of every page, in light, dark and at the width of a phone.

With GCBR_PICTURES=docs/images the pictures in the documentation are made anew.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gcbr.annotate.project import Project
from gcbr.annotate.settings import Wishes
from gcbr.datasets import load_dataset

MODES: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "color_scheme": "light",
        "has_touch": True,
        "is_mobile": True,
    },
}
FULL = (
    "Nothing was saved: papers.gcbr could not be written (database or disk is full). "
    "Make room on the disk and try again; everything saved before is safe."
)


@pytest.fixture
def picture(chromium: Any, tmp_path: Path) -> Callable[..., None]:
    """`picture(served, "name", path, act)`: one file for each mode."""
    folder = Path(os.environ.get("GCBR_PICTURES", tmp_path / "pictures"))
    folder.mkdir(exist_ok=True)

    def take(
        link: str,
        name: str,
        path: str = "/",
        act: Callable[[Any], None] | None = None,
        who: str | None = "Ada",
    ) -> None:
        for mode, options in MODES.items():
            context = chromium.new_context(**options)
            page = context.new_page()
            page.route("**/api/nothing", lambda route: route.continue_())  # an act may catch the next request
            page.goto(link)
            if who is not None:
                page.fill("#name", who)
                page.press("#name", "Enter")
                page.wait_for_selector("#main.desk")
            if path != "/":
                page.goto(link.partition("/?")[0] + path)
            page.wait_for_timeout(1500)
            if act is not None:
                act(page)
                page.wait_for_timeout(700)
            file = folder / f"annotation-{name}-{mode}.png"
            page.screenshot(path=file, full_page=False)
            context.close()
            assert file.stat().st_size > 5000
            _shrink(file)

    return take


def _shrink(file: Path) -> None:
    """To a palette, which a page of few colors hardly shows."""
    from PIL import Image

    Image.open(file).convert("RGB").quantize(256, kmeans=4, dither=Image.Dither.NONE).save(
        file, optimize=True
    )


def label_some(
    project: Project, papers: Any, turn_of: Any, number: int, who: str = "Ada", slip: int = 0
) -> None:
    """Answer with the truth, but every `slip`th time with another class."""
    for rank in range(number):
        turn = turn_of(project, who)
        if turn.node is None:
            return
        truth = papers.classes.index(papers.truth[turn.node])
        is_slip = slip and rank % slip == 0
        label = papers.classes[(truth + bool(is_slip)) % len(papers.classes)]
        project.answer(who, turn.node, label, f"{who}-{turn.node}-{time.monotonic_ns()}")
        deadline = time.monotonic() + 5
        while project.num_behind() and time.monotonic() < deadline:
            time.sleep(0.02)


def refuse(page: Any) -> None:
    page.route("**/api/answers", lambda route: route.fulfill(status=507, json={"detail": FULL}))
    page.keyboard.press("2")


def lose(page: Any) -> None:
    page.route("**/api/**", lambda route: route.abort())
    page.keyboard.press("2")


def wait_forever(page: Any) -> None:
    page.route("**/api/turn", lambda route: None)
    page.reload()


@pytest.mark.slow
def test_every_state_can_be_looked_at(
    papers: Any, tmp_path: Path, serve: Any, picture: Any, turn_of: Any, until: Any
) -> None:
    with papers.open(tmp_path / "papers.gcbr", overlap=0.25) as project:
        served = serve(project)
        link = served.link
        picture(link.partition("?")[0], "closed", who=None)
        picture(link, "join", who=None)
        picture(link, "labels-empty", "/labels")
        until(lambda: project.snapshot.is_ready)
        picture(link, "first")
        label_some(project, papers, turn_of, 34)
        project.skip("Ada", turn_of(project, "Ada").node, "skip-0001")
        until(lambda: not project.num_behind())
        time.sleep(2)
        picture(link, "label")
        picture(
            link, "new-class", act=lambda page: (page.keyboard.press("n"), page.keyboard.type("robotics"))
        )
        picture(link, "neighbor", act=_open_neighbor)
        picture(link, "error", act=refuse)
        picture(link, "unreachable", act=lose)
        picture(link, "loading", act=wait_forever)
        picture(link, "second", who="Grace")
        label_some(project, papers, turn_of, 6, "Grace", slip=3)
        picture(link, "labels", "/labels")
        picture(link, "export", "/labels", act=_export)
        picture(link, "nothing-found", "/labels", act=lambda page: page.fill("#search", "zebra"))
        picture(link, "api", "/docs")
        picture(link, "keys", act=lambda page: page.keyboard.press("?"))
        label_some(project, papers, turn_of, 60)
        picture(link, "finished")
    with papers.open(tmp_path / "no-classes.gcbr", classes=()) as project:
        picture(serve(project).link, "no-classes")
    with papers.open(tmp_path / "password.gcbr") as project:
        picture(serve(project, password="x").link.partition("?")[0], "password", who=None)
    digits = load_dataset("digits")
    wishes = Wishes(classes=digits.class_names, budget=100)
    with Project.open(tmp_path / "digits.gcbr", digits.graph, wishes) as project:
        for rank in range(15):
            node = turn_of(project, "Ada").node
            project.answer("Ada", node, digits.class_names[digits.y[node]], f"digit-{rank:04}")
            until(lambda: not project.num_behind())
        time.sleep(1)
        picture(serve(project).link, "digits")


def _open_neighbor(page: Any) -> None:
    page.click(".neighbors summary")
    page.click(".neighbor >> nth=0")


def _export(page: Any) -> None:
    page.click("[data-format=csv]")
    page.wait_for_selector("#files a", timeout=60_000)
    page.locator("#export").scroll_into_view_if_needed()
