"""`gcbr classify`: the class of every node, from the labels given."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gcbr.cli import console
from gcbr.cli.devices import DeviceName, find_device
from gcbr.cli.graphs import GraphName, LabelColumn, LabelFiles, NoLabels, open_to_label
from gcbr.cli.options import AsJson, DataFolder
from gcbr.errors import InputError

if TYPE_CHECKING:
    from gcbr.classification import Classification
    from gcbr.formats import GraphFile

EXAMPLE = "Example: [bold]gcbr classify papers/ --labels labels.csv --out classes.csv[/bold]"


def classify(
    graph: GraphName,
    labels: LabelFiles = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write every node's class and probability (csv, tsv, parquet)."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, metavar="N", help="Training epochs.")] = 200,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Of the classifier's start and of the folds.")
    ] = 0,
    data: DataFolder = None,
    label_column: LabelColumn = None,
    no_labels: NoLabels = False,
    device: DeviceName = "cpu",
    json: AsJson = False,
) -> None:
    """Train on the labels given, classify every node, and estimate how good that is."""
    import torch

    from gcbr import classification
    from gcbr.formats.answers import check_suffix, write_columns

    torch.set_num_threads(1)
    where = find_device(device)
    if out is not None:
        check_suffix(out)
    opened = open_to_label(graph, labels, data, label_column, no_labels)
    if not opened.labels:
        raise InputError(f"'{graph}' comes with no labels; give some with --labels FILE")
    found = classification.classify(opened.graph.to(where), opened.labels, epochs=epochs, seed=seed)
    if found.why_unknown:
        console.note(found.why_unknown)
    if json:
        from json import dumps

        print(dumps(_document(graph, opened, found), indent=1, ensure_ascii=False))
    else:
        _show(opened, found)
    if out is not None:
        nodes = range(opened.graph.num_nodes)
        write_columns(
            out,
            {
                "node": [opened.graph.name_of(node) for node in nodes],
                "predicted": found.classes,
                "probability": found.confidence,
                "label": [opened.labels.get(node) for node in nodes],
            },
        )
        console.note(f"{len(nodes):,} nodes written to {out}")


def _document(graph: str, opened: GraphFile, found: Classification) -> dict[str, Any]:
    from dataclasses import asdict

    predicted = Counter(found.classes)
    quality = None
    if found.quality is not None:
        quality = asdict(found.quality) | {
            measure: getattr(found.quality, measure)._asdict() for measure in ("micro_f1", "macro_f1")
        }
    return {
        "graph": graph,
        "labels": dict(Counter(opened.labels.values())),
        "predicted": {name: predicted[name] for name in found.class_names},
        "quality": quality,
        "why_unknown": found.why_unknown,
    }


def _show(opened: GraphFile, found: Classification) -> None:
    from rich.text import Text

    from gcbr.cli.tables import plain_table

    screen = console.results()
    num_nodes = opened.graph.num_nodes
    heading = f"{num_nodes:,} nodes from {len(opened.labels)} labels"
    screen.print()
    screen.print(Text.assemble((opened.graph.name, "bold"), "\n", (heading, "dim")))
    screen.print()
    labels, predicted = Counter(opened.labels.values()), Counter(found.classes)
    table = plain_table("class")
    for title in ("labels", "predicted", "share"):
        table.add_column(title, justify="right")
    for name in found.class_names:
        share = f"{predicted[name] / num_nodes:.1%}"
        table.add_row(Text(name), str(labels[name]), f"{predicted[name]:,}", share)
    screen.print(table)
    if found.quality is not None:
        screen.print()
        screen.print(_quality_table(found))
        screen.print(
            f"{found.quality.folds}-fold cross-validation over the {found.quality.labels} labels given: "
            "it holds for nodes like these;\n"
            "labels that were chosen, not drawn, can make it some points too high or too low",
            style="dim",
        )


def _quality_table(found: Classification) -> Any:
    from gcbr.cli.tables import plain_table

    assert found.quality is not None
    table = plain_table("estimated quality")
    table.add_column("", justify="right")
    table.add_column("95% interval", justify="right")
    for title, interval in (("Micro-F1", found.quality.micro_f1), ("Macro-F1", found.quality.macro_f1)):
        value, low, high = (100 * number for number in interval)
        table.add_row(title, f"{value:.1f}", f"{low:.1f} to {high:.1f}")
    return table
