"""GRAPH, as every command takes it: the name of a dataset, a file, or a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcbr.cli import console, progress

if TYPE_CHECKING:
    from gcbr.formats import GraphFile
    from gcbr.graph import Dataset

GraphName = Annotated[
    str, typer.Argument(help="A file or folder, or the name of a dataset, see [bold]gcbr data list[/bold].")
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column of a file that holds the labels. \\[default: label, class or y, if there]",
    ),
]
NoLabels = Annotated[bool, typer.Option("--no-labels", help="Read no column of a file as labels.")]
LabelFiles = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", help="Table with columns node and label (csv, tsv, parquet); may be given again."
    ),
]


def is_file(graph: str) -> bool:
    """Whether a GRAPH means a file or folder; the name of a dataset comes first."""
    from gcbr.datasets import DATASETS

    if graph.partition(":")[0] in DATASETS:
        return False
    return Path(graph).exists() or Path(graph).suffix != "" or "/" in graph


def wanted_labels(label_column: str | None, no_labels: bool) -> bool | str:
    return label_column if label_column is not None else not no_labels


def load_named(name: str, data: Path | None, features: str = "default") -> Dataset:
    from gcbr.datasets import load_dataset

    with progress.downloads() as downloads:
        return load_dataset(name, data_dir=data, features=features, progress=downloads.report)


def open_to_label(
    graph: str, label_files: list[Path] | None, data: Path | None, label_column: str | None, no_labels: bool
) -> GraphFile:
    """The graph and the labels at hand: those of the files, or else those in the graph's own column.

    The labels of a named dataset stay out of sight.
    """
    from dataclasses import replace

    from gcbr.formats import GraphFile, open_graph
    from gcbr.formats.answers import read_labels

    if is_file(graph):
        opened = open_graph(graph, labels=wanted_labels(label_column, no_labels))
        for sentence in opened.notes:
            console.note(sentence)
    else:
        opened = GraphFile(load_named(graph, data).graph, {}, ())
    return replace(opened, labels=read_labels(label_files, opened.graph)) if label_files else opened
