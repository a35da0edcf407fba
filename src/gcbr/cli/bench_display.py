"""How far a benchmark is, live on standard error, and its tables at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from gcbr.benchmark.records import Record, Run
from gcbr.benchmark.tables import BEST, SECOND, Cell, make_tables, margin_text, mean_text, paper_text
from gcbr.cli import console
from gcbr.cli.tables import plain_table
from gcbr.statistics import MEASURES, Measure

_STYLES = {BEST: "bold", SECOND: "underline"}


class Display:
    """A bar over the runs, and the means of the dataset that is under way."""

    def __init__(self, records: Sequence[Record], left: Sequence[Run], workers: int) -> None:
        self._records = list(records)
        self._left = dict.fromkeys(left)
        self._workers = workers
        self._progress = Progress(
            TextColumn("{task.fields[state]}", markup=False), BarColumn(24), console=console.messages()
        )
        self._task = self._progress.add_task(
            "", total=len(records) + len(left), completed=len(records), state=""
        )
        self._means = Group()
        self._update()

    def done(self, run: Run, record: Record) -> None:
        """`record` is that of `run`, with its strategy called as the plan calls it."""
        self._records.append(record)
        self._left.pop(run, None)
        same = [other for other in self._records if other.run.dataset == record.run.dataset]
        self._means = Group(*score_tables(same))
        self._update()

    def __rich__(self) -> Group:
        return Group(self._progress, self._means)

    def _update(self) -> None:
        running = min(self._workers, len(self._left))
        seconds = seconds_left(self._left, self._records, self._workers)
        state = f"{len(self._records)} done, {running} running, {len(self._left) - running} left"
        if seconds is not None:
            state += f", {duration(seconds)} to go"
        self._progress.update(self._task, completed=len(self._records), state=state)


@contextmanager
def display(records: Sequence[Record], left: Sequence[Run], workers: int) -> Iterator[Display]:
    """The display while runs are done; nothing is shown where standard error is no terminal."""
    shown = Display(records, left, workers)
    screen = console.messages()
    if not screen.is_terminal:
        yield shown
        return
    with Live(shown, console=screen, transient=True, refresh_per_second=4):
        yield shown


def seconds_left(left: Iterable[Run], records: Iterable[Record], workers: int) -> float | None:
    """What the runs left should take, each as long as those most like it did; None before the first."""
    seconds: dict[tuple[object, ...], list[float]] = {}
    for record in records:
        for likeness in _likenesses(record.run):
            seconds.setdefault(likeness, []).append(record.cost.wall_seconds)
    if not seconds:
        return None
    means = {likeness: fmean(values) for likeness, values in seconds.items()}
    each = [next(means[likeness] for likeness in _likenesses(run) if likeness in means) for run in left]
    return sum(each) / workers


def _likenesses(run: Run) -> list[tuple[object, ...]]:
    """What to compare a run by, the closest first."""
    return [(run.dataset, run.strategy, run.budget), (run.dataset, run.strategy), (run.dataset,), ()]


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"


def show_results(screen: Console, records: Sequence[Record], paper: str) -> None:
    for table in score_tables(records, paper):
        screen.print()
        screen.print(table)


def score_tables(records: Sequence[Record], paper: str = "") -> list[Table]:
    """One narrow table for each dataset and budget: datasets side by side fit a page, not a terminal."""
    shown = []
    for wide in make_tables(records, paper):
        for column, (setting, caption) in enumerate(zip(wide.settings, wide.captions, strict=True)):
            table = plain_table()
            table.title = Text.assemble((setting.title, "bold"), f"  {caption}")
            table.title_justify = "left"
            table.add_column("method", no_wrap=True)
            for measure in MEASURES:
                table.add_column(measure.title, justify="right", no_wrap=True)
            for row in wide.rows:
                if group := row.groups[column]:
                    cells = [_cell(cell, measure) for cell, measure in zip(group, MEASURES, strict=True)]
                    table.add_row(Text(row.strategy), *cells)
            shown.append(table)
    return shown


def _cell(cell: Cell, measure: Measure) -> Text:
    text = Text.assemble((mean_text(cell, measure), _STYLES.get(cell.rank, "")))
    if cell.value.margin is not None:
        text.append(f" {margin_text(cell, measure)}", "dim")
    if cell.paper is not None:
        text.append(f"  (paper {paper_text(cell, measure)})", "dim")
    return text
