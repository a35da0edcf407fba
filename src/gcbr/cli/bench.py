"""`gcbr bench`: does what a plan says and is not recorded yet, then writes tables, figures and a page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcbr.cli import console, progress

if TYPE_CHECKING:
    from gcbr.benchmark.plan import Agenda, Plan
    from gcbr.benchmark.records import Reading

EXAMPLE = "Example: [bold]gcbr bench smoke[/bold], or [bold]gcbr bench table2 --workers 4[/bold]"


def bench(
    plan: Annotated[
        str,
        typer.Argument(
            help="A shipped plan (smoke, table2, table2-default, fig1, fig3, beyond) or a TOML file."
        ),
    ],
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Runs of each cell, seeds from 0 up. \\[default: the plan's]",
            show_default=False,
        ),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(metavar="A,B", help="These datasets instead of the plan's.")
    ] = None,
    strategies: Annotated[
        str | None, typer.Option(metavar="A,B", help="These strategies instead of the plan's.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Runs at a time, one thread each. \\[default: one a core]",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of records and report; what is recorded there is not done again. "
            "\\[default: bench/PLAN]",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of raw datasets. \\[default: GCBR_DATA, or a cache]"),
    ] = None,
) -> None:
    """Compare strategies over datasets, budgets and seeds; stops and continues at any time."""
    from gcbr.benchmark.plan import is_shipped, narrowed, read_plan
    from gcbr.report import check_writable

    chosen = narrowed(
        read_plan(plan),
        runs=runs,
        datasets=None if datasets is None else split_names(datasets),
        strategies=None if strategies is None else split_names(strategies),
    )
    folder = out or Path("bench") / Path(plan).stem
    # What the user names must be there; what a shipped plan names may come with a later version.
    todo = _agenda(chosen, data, tolerant=is_shipped(plan) and strategies is None)
    if todo.left_out:
        console.note(f"left out: {'; '.join(todo.left_out)}")
    check_writable(folder)
    reading = _execute(todo, chosen, folder / "records.jsonl", workers, data)
    command = _command(plan, runs, datasets, strategies)
    _report(todo, chosen, reading, folder, command)


def split_names(text: str) -> list[str]:
    """`a,b` as two names; the options of `synthetic:nodes=400,seed=1` hold commas of their own."""
    names: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if "=" in part and ":" not in part and names:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def _agenda(plan: Plan, data: Path | None, *, tolerant: bool) -> Agenda:
    from gcbr.benchmark.plan import agenda
    from gcbr.datasets import load_dataset
    from gcbr.errors import InputError

    with progress.downloads() as downloads:
        todo = agenda(
            plan,
            tolerant=tolerant,
            load=lambda name, features: load_dataset(
                name, data_dir=data, features=features, progress=downloads.report
            ),
        )
    if not todo.runs:
        raise InputError(f"the plan has nothing to run: {'; '.join(todo.left_out)}")
    return todo


def _execute(todo: Agenda, plan: Plan, path: Path, workers: int | None, data: Path | None) -> Reading:
    """Do what is missing; gives everything that is recorded then."""
    from joblib import cpu_count

    from gcbr.benchmark import records
    from gcbr.benchmark.run import execute
    from gcbr.cli.bench_display import display

    reading = records.read(path)
    for line in reading.broken_lines:
        console.note(f"line {line} of {path} is broken and set aside; its run counts as not done")
    left = records.missing(todo.runs, reading)
    workers = min(workers or cpu_count(), max(1, len(left)))
    try:
        with display(records.of_runs(todo.runs, reading), left, workers) as shown:
            execute(left, path, workers=workers, data_dir=data, policies=plan.policies, on_done=shown.done)
    except KeyboardInterrupt:
        num_done = len(records.of_runs(todo.runs, records.read(path)))
        console.note(f"{num_done} of {len(todo.runs)} runs are recorded; the same command does the others")
        raise
    return records.read(path)


def _report(todo: Agenda, plan: Plan, reading: Reading, folder: Path, command: str) -> None:
    from gcbr.benchmark import records
    from gcbr.benchmark.page import Findings, write_report
    from gcbr.cli.bench_display import show_results

    done = records.of_runs(todo.runs, reading)
    show_results(console.results(), done, plan.paper)
    findings = Findings(plan, command, done, len(todo.runs), todo.left_out)
    console.note(f"report written to {write_report(folder, findings)}")


def _command(plan: str, runs: int | None, datasets: str | None, strategies: str | None) -> str:
    """What changes the result; where it is written and by how many workers does not."""
    options = {"--runs": runs, "--datasets": datasets, "--strategies": strategies}
    given = [str(word) for option in options.items() if option[1] is not None for word in option]
    return shlex.join(["gcbr", "bench", Path(plan).name, *given])
