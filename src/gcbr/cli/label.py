"""`gcbr label`: the annotation app in the browser; everything is kept in one project file."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcbr.cli import console
from gcbr.cli.devices import DeviceName, find_device
from gcbr.cli.graphs import GraphName, LabelColumn, LabelFiles, NoLabels
from gcbr.cli.options import DataFolder, StrategyName

if TYPE_CHECKING:
    from gcbr.formats import GraphFile

EXAMPLE = "Example: [bold]gcbr label papers/ --classes theory,systems,vision[/bold]"
NEEDED = ("fastapi", "uvicorn", "jinja2")  # of the extra `web`


def label(
    graph: GraphName,
    project: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where answers are kept. \\[default: NAME.gcbr in this folder]"),
    ] = None,
    labels: LabelFiles = None,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="Classes known beforehand; others can be added.")
    ] = None,
    candidates: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A table of the nodes that may be asked (node).")
    ] = None,
    strategy: StrategyName = None,
    budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Labels to be had in all. \\[default: those at hand, and 20 for each class or 100]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Seed of the choice. \\[default: 0]")
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="Share of nodes given to a second person. \\[default: 0]"
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; any but this machine needs a password.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0 takes any free one.")] = 0,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further name under which the page is reached, say of a proxy."),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the page by itself.")
    ] = True,
    data: DataFolder = None,
    label_column: LabelColumn = None,
    no_labels: NoLabels = False,
    device: DeviceName = "cpu",
) -> None:
    """Label a graph in the browser; goes on where it was left."""
    _require_web()
    import torch

    from gcbr.annotate import server
    from gcbr.annotate.cards import Cards
    from gcbr.annotate.project import Project
    from gcbr.annotate.settings import Wishes
    from gcbr.engine.memory import keep_freed_memory
    from gcbr.formats.answers import read_nodes

    torch.set_num_threads(1)
    keep_freed_memory()
    address = server.Address(host, port, _password(host), frozenset(allow_host or ()))
    server.check(address)  # before a long read
    where = find_device(device)
    source, class_names = _opened(graph, labels, data, label_column, no_labels)
    wishes = Wishes(
        strategy=strategy,
        seed=seed,
        budget=budget,
        classes=class_names if classes is None else _names(classes),
        overlap=overlap,
        candidates=None if candidates is None else read_nodes(candidates, source.graph).tolist(),
        labels=source.labels,
    )
    path = project or Path(f"{_file_name(source.graph.name)}.gcbr")
    cards = Cards(source.graph, source.attributes)
    with Project.open(path, source.graph, wishes, cards=cards, device=where) as opened:
        settings = opened.settings
        console.note(
            f"{path}: {opened.num_labels():,} of {settings.budget:,} labels, chosen by {settings.strategy}; "
            "Ctrl-C ends it, and the same command goes on"
        )
        serving = server.Server(opened, address)
        _show(serving.link, browser)
        with contextlib.suppress(KeyboardInterrupt):  # the usual way to end it
            serving.run()
    if opened.worker.is_alive:
        # A choice is still being made. All answers are on the disk, and PyTorch aborts loudly when the
        # interpreter ends around a thread that computes.
        os._exit(0)


def _opened(
    graph: str, labels: list[Path] | None, data: Path | None, label_column: str | None, no_labels: bool
) -> tuple[GraphFile, tuple[str, ...]]:
    """The graph with the labels at hand, and the class names of a dataset: its answers are never offered."""
    from gcbr.cli.graphs import is_file, load_named, open_to_label

    if is_file(graph):
        return open_to_label(graph, labels, data, label_column, no_labels), ()
    from gcbr.formats import GraphFile
    from gcbr.formats.answers import read_labels

    dataset = load_named(graph, data)
    return GraphFile(dataset.graph, read_labels(labels or (), dataset.graph), ()), dataset.class_names


def _show(link: str, browser: bool) -> None:
    print(link, flush=True)
    if browser:
        import webbrowser

        webbrowser.open(link)


def _password(host: str) -> str | None:
    """From the environment, or asked for: on the command line everybody on the machine could read it."""
    from gcbr.annotate.access import LOOPBACK

    given = os.environ.get("GCBR_PASSWORD")
    if given or host in LOOPBACK or not sys.stdin.isatty():
        return given
    return str(
        typer.prompt("Password for other machines", hide_input=True, confirmation_prompt=True, err=True)
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _file_name(name: str) -> str:
    """A graph's name may hold anything; a file's may not."""
    return (
        "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).strip(".-")
        or "graph"
    )


def _require_web() -> None:
    from importlib.util import find_spec

    from gcbr.errors import InputError

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(f"gcbr label needs {', '.join(missing)}; install them with: pip install 'gcbr[web]'")
