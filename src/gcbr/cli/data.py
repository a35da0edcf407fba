"""`gcbr data`: the datasets known by name, what is in them, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcbr.cli import console, progress

if TYPE_CHECKING:
    from gcbr.datasets import DatasetEntry
    from gcbr.graph import Dataset

app = typer.Typer(help="List, describe and download the datasets known by name.", rich_markup_mode="rich")

DataFolder = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Folder of raw datasets. \\[default: GCBR_DATA, or a cache]"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]


@app.command("list", epilog="Example: [bold]gcbr data list[/bold]")
def list_datasets(data: DataFolder = None) -> None:
    """List the datasets, and whether their files are here."""
    from gcbr.cli.tables import plain_table
    from gcbr.datasets import DATASETS

    table = plain_table("name", "what it is", "files")
    for name, entry in DATASETS.items():
        table.add_row(name, entry.description, _presence(entry, data))
    console.results().print(table, markup=False)


def _presence(entry: DatasetEntry, data: Path | None) -> str:
    from gcbr.datasets.raw import RawFolder

    folder = RawFolder(data)
    found = sum(folder.find(file) is not None for file in entry.files)
    if found == len(entry.files):
        return "here" if entry.files else "none needed"
    return f"{found} of {len(entry.files)} here" if found else "to download"


@app.command("info", epilog="Example: [bold]gcbr data info cora[/bold]")
def describe_dataset(
    name: Annotated[str, typer.Argument(help="Name of a dataset; downloaded if it is not here.")],
    data: DataFolder = None,
    json: AsJson = False,
) -> None:
    """Show a dataset's size, degrees, components and classes."""
    from gcbr.cli.tables import show_facts
    from gcbr.datasets import load_dataset

    with progress.downloads() as downloads:
        dataset = load_dataset(name, data_dir=data, progress=downloads.report)
    facts, classes = _facts(dataset), _class_sizes(dataset)
    if json:
        from json import dumps

        print(dumps({"name": name, **facts, "classes": classes}, indent=1, ensure_ascii=False))
    else:
        show_facts(console.results(), name, facts, classes)


def _facts(dataset: Dataset) -> dict[str, int | float]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph, degree = dataset.graph, dataset.graph.degree
    adjacency = graph.adjacency
    parts = tuple(part.numpy() for part in (adjacency.values, adjacency.indices, adjacency.indptr))
    sizes = _class_sizes(dataset).values()
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "features": graph.num_features,
        "components": int(connected_components(csr_array(parts, adjacency.shape), directed=False)[0]),
        "isolated nodes": int((degree == 0).sum()),
        "mean degree": 2 * graph.num_edges / graph.num_nodes,
        "largest degree": int(degree.max()),
        "test nodes": len(dataset.test),
        "class skew": max(sizes) / max(1, min(sizes)),
    }


def _class_sizes(dataset: Dataset) -> dict[str, int]:
    from gcbr.metrics import class_counts

    counts = class_counts(dataset.y, dataset.num_classes).tolist()
    return dict(zip(dataset.class_names, counts, strict=True))


@app.command("fetch", epilog="Example: [bold]gcbr data fetch cora citeseer[/bold]")
def fetch_datasets(
    names: Annotated[list[str], typer.Argument(help="Names of datasets.")],
    data: DataFolder = None,
) -> None:
    """Download datasets and check every file against its published sum."""
    from gcbr.datasets import find_entry
    from gcbr.datasets.raw import RawFolder

    entries = {name: find_entry(name) for name in names}  # a wrong name is told before anything is downloaded
    for name, entry in entries.items():
        with progress.downloads() as downloads:
            folder = RawFolder(data, downloads.report)
            for file in entry.files:
                folder.read(file)
        places = sorted({str(path.parent) for file in entry.files if (path := folder.find(file))})
        print(
            f"{name}: {len(entry.files)} files in {', '.join(places)}"
            if places
            else f"{name}: needs no files"
        )
