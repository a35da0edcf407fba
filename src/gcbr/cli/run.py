"""`gcbr run`: labels a graph whose labels are known, beside random choice, and shows what it was worth."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcbr.cli import console, progress
from gcbr.cli.devices import DeviceName, find_device
from gcbr.cli.graphs import LabelColumn, is_file, load_named
from gcbr.cli.options import AsJson, DataFolder, StrategyName

if TYPE_CHECKING:
    from gcbr.graph import Dataset
    from gcbr.report import Comparison, Settings
    from gcbr.simulation import SimulationResult

EXAMPLE = "Example: [bold]gcbr run cora --budget 140 --runs 10 --out report[/bold]"


def run(
    graph: Annotated[
        str,
        typer.Argument(
            help="Name of a dataset, see [bold]gcbr data list[/bold], or a file or folder with labels."
        ),
    ] = "digits",
    strategy: StrategyName = None,
    budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Nodes to label. \\[default: 20 for each class, a third of a small pool at most]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of the first run; later runs count up from it.")
    ] = 0,
    runs: Annotated[
        int, typer.Option(min=1, metavar="N", help="Runs to average; more than one adds 95% intervals.")
    ] = 1,
    features: Annotated[
        str,
        typer.Option(metavar="RULE", help="Feature scaling: default, or paper to compare with its figures."),
    ] = "default",
    final_epochs: Annotated[
        int, typer.Option(min=0, metavar="N", help="Training epochs after the last label.")
    ] = 100,
    data: DataFolder = None,
    label_column: LabelColumn = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write report.html, labels.csv and result.json there.")
    ] = None,
    json: AsJson = False,
    device: DeviceName = "cpu",
    threads: Annotated[
        int, typer.Option(min=1, metavar="N", help="Threads; one is fastest on graphs of usual size.")
    ] = 1,
) -> None:
    """Simulate labeling a graph whose labels are known, beside random choice."""
    import torch

    from gcbr import report
    from gcbr.cli import tables
    from gcbr.engine.memory import keep_freed_memory
    from gcbr.formats import open_dataset
    from gcbr.simulation import default_budget
    from gcbr.strategies import DEFAULT_STRATEGY, find_strategy

    torch.set_num_threads(threads)
    keep_freed_memory()
    name = strategy or DEFAULT_STRATEGY
    # Mistakes that can be seen now are told now, not after a download or an hour of work.
    find_strategy(name)
    where = find_device(device)
    if out is not None:
        report.check_writable(out)
    if is_file(graph):
        dataset, notes = open_dataset(graph, labels=label_column or True, features=features)
        for sentence in notes:
            console.note(sentence)
    else:
        dataset = load_named(graph, data, features)
    dataset = dataset.to(where)
    settings = report.Settings(
        budget=default_budget(dataset) if budget is None else budget,
        seeds=tuple(range(seed, seed + runs)),
        features=features,
        final_epochs=final_epochs,
        threads=threads,
        device=device,
    )
    results = _simulate(dataset, name, settings)
    command = _command(graph, label_column, name, settings)
    comparison = report.Comparison(dataset, settings, command, results)
    _note_limits(comparison)
    if json:
        print(report.to_json(comparison), end="")
    else:
        tables.show_comparison(console.results(), comparison)
    if out is not None:
        console.note(f"report written to {report.write_report(out, comparison)}")


def _simulate(dataset: Dataset, strategy: str, settings: Settings) -> dict[str, tuple[SimulationResult, ...]]:
    """All runs of the strategy, then all of random."""
    from gcbr.report.summary import BASELINE
    from gcbr.simulation import run_simulation

    num_runs = len(settings.seeds)
    with progress.labeling(settings.budget, num_runs, dataset.num_classes) as bars:

        def simulated(name: str, run: int) -> SimulationResult:
            return run_simulation(
                dataset,
                name,
                budget=settings.budget,
                seed=settings.seeds[run],
                final_epochs=settings.final_epochs,
                on_answer=lambda labels: bars.answered(name, run, labels),
            )

        strategies = dict.fromkeys([strategy, BASELINE])  # once, where the two are the same
        return {name: tuple(simulated(name, run) for run in range(num_runs)) for name in strategies}


def _command(graph: str, label_column: str | None, strategy: str, settings: Settings) -> str:
    """The command that gives this result again wherever the data is, every default spelled out."""
    options = {
        "--strategy": strategy,
        "--budget": settings.budget,
        "--seed": settings.seeds[0],
        "--runs": len(settings.seeds),
        "--features": settings.features,
        "--final-epochs": settings.final_epochs,
        "--threads": settings.threads,
        "--device": settings.device,
    }
    if label_column is not None:
        options["--label-column"] = label_column
    words = [str(word) for option in options.items() for word in option]
    return shlex.join(["gcbr", "run", graph, *words])


def _note_limits(comparison: Comparison) -> None:
    """What to keep in mind when reading the result."""
    from gcbr.splits import is_scaled, split_sizes

    num_nodes = comparison.dataset.graph.num_nodes
    if is_scaled(num_nodes):
        num_test, num_val = split_sizes(num_nodes)
        console.note(
            f"small graph, split in proportion: {num_test} nodes to test, {num_val} to validate, "
            f"{num_nodes - num_test - num_val} to choose from"
        )
    if len(comparison.settings.seeds) == 1:
        console.note("one run, and chance moves it by points; --runs 10 shows intervals")
