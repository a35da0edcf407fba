"""A graph as an annotator meets it, projects on it, real servers on loopback, and a real browser."""

from __future__ import annotations

import csv
import os
import random
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from gcbr.annotate.cards import Cards
from gcbr.annotate.project import Assignment, Project
from gcbr.annotate.server import Address, Server
from gcbr.annotate.settings import Wishes
from gcbr.formats import GraphFile, open_graph

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-gpu", "--hide-scrollbars"]

# Each topic: how many papers of a hundred, and words to make sentences of.
TOPICS = {
    "databases": (
        46,
        ("query plans", "join orders", "column stores", "transaction logs", "index structures"),
        ("storage engines", "data warehouses", "key-value stores", "stream processors"),
    ),
    "vision": (
        30,
        ("image segments", "depth maps", "optical flow", "object outlines", "camera poses"),
        ("video", "street scenes", "medical images", "satellite pictures"),
    ),
    "networks": (
        17,
        ("routing tables", "congestion windows", "packet traces", "overlay trees", "link failures"),
        ("data centers", "wireless meshes", "wide-area links", "home routers"),
    ),
    "theory": (
        7,
        ("lower bounds", "random walks", "proof systems", "expander graphs", "matchings"),
        ("bounded degree", "sublinear time", "two players", "noisy oracles"),
    ),
}
TITLES = ("On {a} in {b}", "Learning {a} for {b}", "Fast {a} for {b}", "Towards better {a} in {b}")
SENTENCES = (
    "We study {a} and show that they can be kept small in {b}.",
    "Earlier work treats {a} and {c} one by one; we treat them together.",
    "A prototype for {b} halves the time spent on {a}.",
    "The method needs no tuning beyond one parameter, and its worst case is known.",
    "Experiments on four collections of {b} support the analysis.",
    "Our main tool is a new way to compare {a} with {c}.",
)


@dataclass(frozen=True, eq=False)
class Papers:
    """Papers in CSV files, citing each other, and the class of each."""

    folder: Path
    file: GraphFile
    truth: tuple[str, ...]

    classes = tuple(TOPICS)

    def open(self, path: Path, **wishes: Any) -> Project:
        options = {"classes": self.classes, "budget": 60, **wishes}
        return Project.open(
            path, self.file.graph, Wishes(**options), cards=Cards(self.file.graph, self.file.attributes)
        )


def write_papers(
    folder: Path, num_papers: int = 240, abstracts: dict[int, str] | None = None, seed: int = 0
) -> Papers:
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    topics = rng.choices(list(TOPICS), [share for share, _, _ in TOPICS.values()], k=num_papers)
    rows = [_paper(number, topic, rng) for number, topic in enumerate(topics)]
    for number, text in (abstracts or {}).items():
        rows[number]["abstract"] = text
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["source", "target"])
        lines.writerows((rows[a]["id"], rows[b]["id"]) for a, b in sorted(_citations(topics, rng)))
    return Papers(folder, open_graph(folder), tuple(topics))


def _paper(number: int, topic: str, rng: random.Random) -> dict[str, str]:
    _, things, places = TOPICS[topic]
    a, c = rng.sample(things, 2)
    words = {"a": a, "b": rng.choice(places), "c": c}
    return {
        "id": f"paper-{number:03}",
        "title": rng.choice(TITLES).format(**words),
        "published": f"{rng.choice(['Journal', 'Conference'])}, {rng.randint(1994, 2024)}",
        "abstract": " ".join(text.format(**words) for text in rng.sample(SENTENCES, rng.randint(3, 5))),
    }


def _citations(topics: list[str], rng: random.Random) -> set[tuple[int, int]]:
    edges = set()
    for paper, topic in enumerate(topics):
        kin = [other for other, its in enumerate(topics[:paper]) if its == topic]
        for _ in range(min(paper, rng.randint(1, 5))):
            # Mostly the same topic; the older a paper, the more often it is cited.
            is_near = kin and rng.random() < 0.85
            other = kin[int(len(kin) * rng.random() ** 1.7)] if is_near else rng.randrange(paper)
            edges.add((other, paper))
    return edges


@pytest.fixture(autouse=True)
def _no_worker_left() -> Iterator[None]:
    """What a worker is in the middle of when its project is closed is done before the next test begins."""
    before = set(threading.enumerate())  # the worker of a server that a whole module shares
    yield
    for thread in set(threading.enumerate()) - before:
        if thread.name == "gcbr-worker":
            thread.join(120)


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    return write_papers(tmp_path_factory.mktemp("graph") / "papers")


@pytest.fixture
def make_papers(tmp_path: Path) -> Callable[..., Papers]:
    """Other papers: `make_papers(num_papers=20, abstracts={0: "..."})`."""
    return lambda **options: write_papers(tmp_path / f"papers-{uuid.uuid4().hex}", **options)


@pytest.fixture
def project(papers: Papers, tmp_path: Path) -> Iterator[Project]:
    with papers.open(tmp_path / "papers.gcbr") as opened:
        yield opened


def new_request() -> str:
    return uuid.uuid4().hex


def wait_for(what: Callable[[], Any], seconds: float = 60) -> Any:
    """What `what` gives, once it is something."""
    end = time.monotonic() + seconds
    while not (value := what()):
        if time.monotonic() > end:
            raise TimeoutError(f"nothing after {seconds} seconds")
        time.sleep(0.01)
    return value


@pytest.fixture
def turn_of() -> Callable[[Project, str], Assignment]:
    """The next node of a person, once there is one, or word that there is none."""

    def settled(project: Project, annotator: str) -> Assignment | None:
        assignment = project.next(annotator)
        return None if assignment.state == "loading" else assignment

    return lambda project, annotator: wait_for(lambda: settled(project, annotator))


@pytest.fixture
def until() -> Callable[..., Any]:
    return wait_for


@dataclass(frozen=True, eq=False)
class Served:
    """A project behind a real server, with a program's access to it."""

    project: Project
    link: str
    http: httpx.Client

    @property
    def base(self) -> str:
        return self.link.partition("/?")[0]

    @property
    def token(self) -> str:
        return self.link.partition("token=")[2]

    def turn(self, annotator: str = "Ada") -> dict[str, Any]:
        """The turn, once a node has been chosen."""

        def ready() -> dict[str, Any] | None:
            turn: dict[str, Any] = self.http.get("/api/turn", headers={"X-Annotator": annotator}).json()
            return None if turn["status"] == "loading" else turn

        return wait_for(ready)

    def post(self, path: str, annotator: str = "Ada", **body: Any) -> httpx.Response:
        document = {"request": new_request(), **body} if path != "/api/budget" else body
        return self.http.post(path, json=document, headers={"X-Annotator": annotator})


@contextmanager
def serving(project: Project, **address: Any) -> Iterator[Served]:
    server = Server(project, Address(**address))
    thread = threading.Thread(target=server.run)
    thread.start()
    base, _, token = server.link.partition("/?token=")
    with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        yield Served(project, server.link, http)
    server.stop()
    thread.join()


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """`serve(project)`: a server on a free port of loopback, stopped with the test."""
    with ExitStack() as stack:
        yield lambda project, **address: stack.enter_context(serving(project, **address))


@pytest.fixture
def served(project: Project, serve: Callable[..., Served]) -> Served:
    return serve(project)


@pytest.fixture(scope="module")
def untouched(papers: Papers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server for all tests of a module, of a project that none of them changes."""
    path = tmp_path_factory.mktemp("untouched") / "papers.gcbr"
    with papers.open(path) as project, serving(project) as served:
        yield served
        assert project.standings() == {}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's Chromium or its like. Where a browser is required, one that is missing fails the test."""
    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if found is None:
        reason = "needs Chromium: apt-get install chromium"
        if os.environ.get("GCBR_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=QUIET)
        yield launched
        launched.close()


@pytest.fixture
def new_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """`new_page(served, "Ada")`: a page of a person; it fails the test on any error in its console.

    A test that catches requests by `page.route` says `caught=True`: Chromium would let the next request
    pass where a page that is open already is the first to ask for it.
    """
    contexts, complaints = [], []

    def opened(
        served: Served | str, annotator: str | None = "Ada", *, caught: bool = False, **options: Any
    ) -> Any:
        context = chromium.new_context(viewport={"width": 1280, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        if caught:
            page.route("**/api/nothing", lambda route: route.continue_())
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: line.type == "error" and complaints.append(line.text))
        page.goto(served if isinstance(served, str) else served.link)
        if annotator is not None:
            page.fill("#name", annotator)
            page.press("#name", "Enter")
            page.wait_for_selector("#main[data-state=ready], #main[data-state=finished]")
        return page

    opened.complaints = complaints  # type: ignore[attr-defined]
    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
