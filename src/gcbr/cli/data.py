"""`gcbr data`: the datasets known by name, graphs in files, what is in them, and their files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcbr.cli import console, progress
from gcbr.cli.graphs import LabelColumn, NoLabels, is_file, load_named, wanted_labels
from gcbr.cli.options import AsJson, DataFolder

if TYPE_CHECKING:
    from gcbr.datasets import DatasetEntry
    from gcbr.formats import GraphFile
    from gcbr.graph import Dataset, Graph

app = typer.Typer(
    help="List, describe and download the datasets known by name; describe and convert graphs in files.",
    rich_markup_mode="rich",
)


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


@app.command("info", epilog="Example: [bold]gcbr data info cora[/bold], [bold]gcbr data info papers/[/bold]")
def describe_graph(
    graph: Annotated[
        str, typer.Argument(help="Name of a dataset (downloaded if it is not here), a file, or a folder.")
    ],
    data: DataFolder = None,
    label_column: LabelColumn = None,
    no_labels: NoLabels = False,
    json: AsJson = False,
) -> None:
    """Show a graph's size, degrees, components and classes, and how a file was understood."""
    notes: tuple[str, ...] = ()
    if is_file(graph):
        from gcbr.formats import open_graph

        opened = open_graph(graph, labels=wanted_labels(label_column, no_labels))
        facts, classes, notes = _facts(opened.graph), _label_counts(opened), opened.notes
        facts["labeled nodes"] = len(opened.labels)
    else:
        dataset = load_named(graph, data)
        facts, classes = _facts(dataset.graph), _class_sizes(dataset)
        facts["test nodes"] = len(dataset.test)
    if classes:
        facts["class skew"] = max(classes.values()) / max(1, min(classes.values()))
    if json:
        from json import dumps

        document = {
            "name": graph,
            **facts,
            "classes": classes,
            **({"notes": notes} if is_file(graph) else {}),
        }
        print(dumps(document, indent=1, ensure_ascii=False))
    else:
        _show(graph, facts, classes, notes)


@app.command("convert", epilog="Example: [bold]gcbr data convert papers/ papers.graphml[/bold]")
def convert(
    source: Annotated[str, typer.Argument(help="A file or folder to read, or the name of a dataset.")],
    target: Annotated[
        Path,
        typer.Argument(help="A file (graphml, gml, gexf, json, mtx, npz, pt), or a folder."),
    ],
    format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="Of a folder: two tables in csv, tsv or parquet; or mapped, for millions of nodes, "
            "opened at once. \\[default: csv]",
        ),
    ] = None,
    data: DataFolder = None,
    label_column: LabelColumn = None,
    no_labels: NoLabels = False,
) -> None:
    """Write a graph in another format."""
    from gcbr.formats import convert_graph, write_graph

    if is_file(source):
        opened, lost = convert_graph(
            source, target, labels=wanted_labels(label_column, no_labels), format=format
        )
        graph, notes = opened.graph, opened.notes
    else:
        dataset = load_named(source, data)
        graph, notes = dataset.graph, ("features are written as the default rule scales them",)
        labels = {node: dataset.class_names[cls] for node, cls in enumerate(dataset.y.tolist())}
        lost = write_graph(target, graph, labels, format=format)
    for sentence in (*notes, *lost):
        console.note(sentence)
    print(f"{target}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges")


def _show(
    name: str, facts: Mapping[str, int | float], classes: Mapping[str, int], notes: tuple[str, ...]
) -> None:
    from rich.table import Table
    from rich.text import Text

    from gcbr.cli.tables import show_facts

    out = console.results()
    if classes:
        show_facts(out, name, facts, classes)
    else:
        out.print(name, style="bold", markup=False)
        sizes = Table.grid(padding=(0, 2))
        for fact, value in facts.items():
            sizes.add_row(
                Text(fact, style="dim"), f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
            )
        out.print(sizes)
    if notes:
        out.print()
    for sentence in notes:
        out.print(f"- {sentence}", markup=False, soft_wrap=True)


def _facts(graph: Graph) -> dict[str, int | float]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    adjacency = graph.adjacency
    parts = tuple(part.numpy() for part in (adjacency.values, adjacency.indices, adjacency.indptr))
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "features": graph.num_features,
        "components": int(connected_components(csr_array(parts, adjacency.shape), directed=False)[0]),
        "isolated nodes": int((graph.degree == 0).sum()),
        "mean degree": 2 * graph.num_edges / graph.num_nodes,
        "largest degree": int(graph.degree.max()),
    }


def _class_sizes(dataset: Dataset) -> dict[str, int]:
    from gcbr.metrics import class_counts

    counts = class_counts(dataset.y, dataset.num_classes).tolist()
    return dict(zip(dataset.class_names, counts, strict=True))


def _label_counts(opened: GraphFile) -> dict[str, int]:
    from collections import Counter

    return dict(Counter(opened.labels.values()).most_common())


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
