"""`gcbr suggest`: the next nodes to label, and why. Stateless: tables in, a table out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcbr.cli import console
from gcbr.cli.devices import DeviceName, find_device
from gcbr.cli.graphs import GraphName, LabelColumn, LabelFiles, NoLabels, open_to_label
from gcbr.cli.options import AsJson, DataFolder, StrategyName

if TYPE_CHECKING:
    from rich.console import Console

    from gcbr.explain import Explanation
    from gcbr.suggestion import Suggestion

EXAMPLE = "Example: [bold]gcbr suggest papers/ --labels labels.csv -n 5 --out next.csv[/bold]"
_SHOWN_CLASSES = 3


def suggest(
    graph: GraphName,
    labels: LabelFiles = None,
    number: Annotated[int, typer.Option("--number", "-n", min=1, metavar="K", help="Nodes to suggest.")] = 5,
    budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Labels you will give in all. \\[default: 20 for each class, or those given and K more]",
            show_default=False,
        ),
    ] = None,
    classes: Annotated[
        str, typer.Option(metavar="A,B,C", help="Classes known beforehand; others may turn up.")
    ] = "",
    candidates: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table whose column node names those to choose from.")
    ] = None,
    strategy: StrategyName = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The same seed suggests the same nodes.")] = 0,
    interactive: Annotated[
        bool,
        typer.Option(
            "--interactive",
            help="Choose among a random sample of the candidates: quicker on very large graphs.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a table to fill in (csv, tsv, parquet): node, label, why."),
    ] = None,
    data: DataFolder = None,
    label_column: LabelColumn = None,
    no_labels: NoLabels = False,
    device: DeviceName = "cpu",
    json: AsJson = False,
) -> None:
    """Suggest the next nodes to label, each with its predicted classes and what speaks for it."""
    import torch

    from gcbr import suggestion
    from gcbr.formats.answers import check_suffix, read_nodes
    from gcbr.strategies import DEFAULT_STRATEGY, find_strategy
    from gcbr.strategies.sampled import QUICK

    torch.set_num_threads(1)
    name = strategy or DEFAULT_STRATEGY
    # Mistakes that can be seen now are told now, not after a long read.
    find_strategy(name)
    where = find_device(device)
    if out is not None:
        check_suffix(out)
    opened = open_to_label(graph, labels, data, label_column, no_labels)
    suggested = suggestion.suggest(
        opened.graph.to(where),
        opened.labels,
        number,
        budget=budget,
        classes=[text.strip() for text in classes.split(",") if text.strip()],
        candidates=None if candidates is None else read_nodes(candidates, opened.graph),
        strategy=name,
        seed=seed,
        sample=QUICK if interactive else None,
    )
    if interactive:
        console.note(
            f"chosen among a random sample of {QUICK} candidates; without --interactive all are compared"
        )
    _say(suggested)
    if json:
        from json import dumps

        print(dumps({"graph": graph, **suggested.to_json()}, indent=1, ensure_ascii=False))
    else:
        _show(console.results(), opened.graph.name, suggested)
    if out is not None:
        _write(out, suggested)
        console.note(f"table to fill in written to {out}")


def _say(suggested: Suggestion) -> None:
    """What stands beside the suggestions: whether to stop, and whether to trust the graph."""
    if suggested.progress.given:
        console.note(suggested.stop_hint.sentence)
    found = suggested.homophily
    if found.is_low:
        console.note(
            f"warning: the labels do not follow the edges: of {found.edges} edges between labeled nodes "
            f"{found.alike:.0%} join two of one class, hardly more than by chance; "
            "a classifier that learns from neighbors may mislead here"
        )


def _show(screen: Console, graph: str, suggested: Suggestion) -> None:
    from rich.table import Table
    from rich.text import Text

    from gcbr.cli.tables import plain_table

    progress = suggested.progress
    counts = ", ".join(f"{cls}: {count}" for cls, count in progress.counts.items()) or "no class known yet"
    given = f"{progress.given} of {progress.budget} labels given; {counts}"
    balance = f"; imbalance ratio {progress.rho:.2f}" if len(progress.counts) > 1 else ""
    screen.print()
    screen.print(Text.assemble((f"to label next in {graph}", "bold"), "\n", (given + balance, "dim")))
    screen.print()
    table: Table = plain_table()
    table.leading = 1  # a line of air between nodes
    table.add_column("node", overflow="fold", style="bold")
    table.add_column("predicted", overflow="fold", min_width=12)
    table.add_column("what speaks for it", overflow="fold")
    for node in suggested.nodes:
        table.add_row(Text(node.name), Text(_predicted(node)), Text(node.sentence))
    screen.print(table)


def _predicted(node: Explanation) -> str:
    likeliest = node.predicted[:_SHOWN_CLASSES]
    return "\n".join(f"{cls} {probability:.0%}" for cls, probability in likeliest) or "-"


def _write(path: Path, suggested: Suggestion) -> None:
    """A column `label` to fill in: the file is then one for --labels."""
    from gcbr.formats.answers import write_columns

    nodes = suggested.nodes
    write_columns(
        path,
        {
            "node": [node.name for node in nodes],
            "label": [""] * len(nodes),
            "predicted": [node.predicted[0][0] if node.predicted else "" for node in nodes],
            "probability": [node.predicted[0][1] if node.predicted else None for node in nodes],
            "why": [node.sentence for node in nodes],
        },
    )
