"""`gcbr bench`: does what a plan says and is not recorded yet, then writes tables, figures and a page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcbr.cli import console, progress
from gcbr.cli.options import AsJson, DataFolder

if TYPE_CHECKING:
    from gcbr.benchmark.agenda import Agenda, Size
    from gcbr.benchmark.page import Findings
    from gcbr.benchmark.plan import Plan
    from gcbr.benchmark.store import Store

EXAMPLE = "Example: [bold]gcbr bench smoke[/bold], or [bold]gcbr bench table2 --workers 4[/bold]"


def bench(
    plan: Annotated[
        str,
        typer.Argument(
            help="A shipped plan (smoke, table2, table2-default, table3, fig1, fig3, fig4, fig5, fig6, "
            "beyond) or a TOML file."
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
        Path,
        typer.Option(
            metavar="DIR",
            help="Folder of records, which all plans share, of trained policies, and of a report for each "
            "plan; what is recorded there is not done again.",
        ),
    ] = Path("bench"),
    policies: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of policies trained for plans. \\[default: policies in --out]"
        ),
    ] = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Write the report of what is recorded; run nothing.")
    ] = False,
    json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Compare strategies over datasets, budgets and seeds; stops and continues at any time."""
    from gcbr.benchmark.agenda import check_plan
    from gcbr.benchmark.page import write_report
    from gcbr.benchmark.plan import is_shipped, narrowed, read_plan
    from gcbr.benchmark.results import recorded_findings
    from gcbr.benchmark.store import Store
    from gcbr.errors import InputError
    from gcbr.report import check_writable

    chosen = narrowed(
        read_plan(plan),
        runs=runs,
        datasets=None if datasets is None else split_names(datasets),
        strategies=None if strategies is None else split_names(strategies),
    )
    # What the user names must be there; what a shipped plan names may come with a later version.
    tolerant = report_only or (is_shipped(plan) and strategies is None)
    check_plan(chosen, tolerant=tolerant)
    store, policies = Store(out / "records"), policies or out / "policies"
    command = _command(plan, runs, datasets, strategies)
    if report_only:
        findings = recorded_findings(chosen, command, store, policies)
        _tell_left_out(findings.left_out)
    else:
        sizes = _sizes(chosen, data, tolerant=datasets is None)
        _train(chosen, policies, workers, data)
        todo = _agenda(chosen, sizes, policies, tolerant=tolerant)
        check_writable(out)
        findings = _execute(todo, chosen, command, store, workers, data)
    if not findings.records:
        raise InputError(f"nothing of the plan is recorded in {out}")
    _show(findings, write_report(out / Path(plan).stem, findings), as_json=json)


def split_names(text: str) -> list[str]:
    """`a,b` as two names; the options of `synthetic:nodes=400,seed=1` hold commas of their own."""
    names: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if "=" in part and ":" not in part and names and ":" in names[-1]:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def _sizes(plan: Plan, data: Path | None, *, tolerant: bool) -> dict[str, Size]:
    """Of the datasets that can be loaded; downloads what is missing."""
    from gcbr.benchmark.agenda import load_sizes
    from gcbr.datasets import load_dataset
    from gcbr.errors import InputError

    with progress.downloads() as downloads:
        sizes, absent = load_sizes(
            plan,
            lambda name, features: load_dataset(
                name, data_dir=data, features=features, progress=downloads.report
            ),
        )
    if absent and (not tolerant or not sizes):
        raise InputError(next(iter(absent.values())))
    for dataset, reason in absent.items():
        console.note(f"{dataset} is not run: {reason}")
    return sizes


def _train(plan: Plan, folder: Path, workers: int | None, data: Path | None) -> None:
    """Train the policies that the plan names by their settings and the folder lacks."""
    from joblib import cpu_count

    from gcbr.benchmark.agenda import trainings
    from gcbr.benchmark.policies import missing_policies, train_missing

    needed = trainings(plan)
    missing = missing_policies(needed, folder)
    if not missing:
        return
    console.note(f"policies to train first, into {folder}: {len(missing)}")
    try:
        train_missing(
            needed,
            folder,
            workers=min(workers or cpu_count(), len(missing)),
            data_dir=data,
            on_done=lambda policy: console.note(f"trained {policy.file(folder).name}"),
        )
    except KeyboardInterrupt:
        console.note("the same command goes on with the training")
        raise


def _agenda(plan: Plan, sizes: dict[str, Size], policies: Path, *, tolerant: bool) -> Agenda:
    from gcbr.benchmark.agenda import agenda
    from gcbr.errors import InputError

    todo = agenda(plan, sizes, policies, tolerant=tolerant)
    _tell_left_out(todo.left_out)
    if not todo.runs:
        raise InputError("the plan has nothing to run")
    return todo


def _tell_left_out(left_out: Sequence[str]) -> None:
    if left_out:
        console.note(f"left out: {'; '.join(left_out)}")


def _execute(
    todo: Agenda, plan: Plan, command: str, store: Store, workers: int | None, data: Path | None
) -> Findings:
    """Do what is missing; gives what is recorded then."""
    from joblib import cpu_count

    from gcbr.benchmark.page import Findings
    from gcbr.benchmark.records import missing, of_runs
    from gcbr.benchmark.run import execute
    from gcbr.cli.bench_display import display

    for line in store.pack():
        console.note(f"a broken line of the records is set aside, its run counts as not done: {line[:60]}")
    recorded = store.read()
    left = missing(todo.runs, recorded)
    workers = min(workers or cpu_count(), max(1, len(left)))
    try:
        with display(todo.labeled(of_runs(todo.runs, recorded)), left, workers) as shown:
            elsewhere = execute(
                left,
                store,
                workers=workers,
                data_dir=data,
                policies=todo.policies,
                on_done=lambda record: shown.done(record.run, todo.labeled([record])[0]),
            )
    except KeyboardInterrupt:
        num_done = len(of_runs(todo.runs, store.read()))
        console.note(f"{num_done} of {len(todo.runs)} runs are recorded; the same command does the others")
        raise
    finally:
        store.pack()
    if elsewhere:
        console.note(f"{len(elsewhere)} runs are left to another process, which is at them")
    done = todo.labeled(of_runs(todo.runs, store.read()))
    return Findings(plan, command, done, len(todo.runs), todo.left_out)


def _show(findings: Findings, page: Path, *, as_json: bool) -> None:
    if as_json:
        from json import dumps

        from gcbr.benchmark.page import summary

        print(dumps({**summary(findings), "report": str(page)}))
        return
    from gcbr.cli.bench_display import show_results

    show_results(console.results(), findings.records, findings.plan.paper)
    console.note(f"report written to {page}")


def _command(plan: str, runs: int | None, datasets: str | None, strategies: str | None) -> str:
    """What changes the result; where it is written and by how many workers does not."""
    options = {"--runs": runs, "--datasets": datasets, "--strategies": strategies}
    given = [str(word) for option in options.items() if option[1] is not None for word in option]
    return shlex.join(["gcbr", "bench", Path(plan).name, *given])
