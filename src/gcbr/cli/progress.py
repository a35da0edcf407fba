"""Live bars on standard error; nothing at all where that is not a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gcbr.cli import console

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

    from gcbr.graph import Labels

_LEVELS = "▁▂▃▄▅▆▇█"
_MOST_CLASSES = 40  # shown one by one


@contextmanager
def _bars(*columns: ProgressColumn) -> Iterator[Progress]:
    from rich.progress import Progress

    screen = console.messages()
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        yield progress


class Downloads:
    """One bar for each file; its `report` is what `load_dataset` calls."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def report(self, file: str, received: int, total: int | None) -> None:
        if file not in self._tasks:
            self._tasks[file] = self._progress.add_task(file, total=total)
        self._progress.update(self._tasks[file], completed=received)


@contextmanager
def downloads() -> Iterator[Downloads]:
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

    name = TextColumn("{task.description}", markup=False)
    with _bars(name, BarColumn(), DownloadColumn(), TransferSpeedColumn()) as progress:
        yield Downloads(progress)


class Labeling:
    """One bar for each strategy, over all its runs."""

    def __init__(self, progress: Progress, budget: int, num_runs: int, num_classes: int) -> None:
        self._progress = progress
        self._budget = budget
        self._num_runs = num_runs
        self._num_classes = num_classes
        self._tasks: dict[str, TaskID] = {}

    def answered(self, strategy: str, run: int, labels: Labels) -> None:
        if strategy not in self._tasks:
            total = self._budget * self._num_runs
            self._tasks[strategy] = self._progress.add_task(strategy, total=total, state="")
        state = f"{len(labels)}/{self._budget} labels  {balance(labels.counts(self._num_classes).tolist())}"
        if self._num_runs > 1:
            state = f"run {run + 1}/{self._num_runs}  {state}"
        self._progress.update(self._tasks[strategy], completed=run * self._budget + len(labels), state=state)


@contextmanager
def labeling(budget: int, num_runs: int, num_classes: int) -> Iterator[Labeling]:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    name = TextColumn("{task.description}", markup=False)
    one_line = Column(no_wrap=True, overflow="ellipsis")  # on narrow screens too, or the display would jump
    state = TextColumn("{task.fields[state]}", markup=False, table_column=one_line)
    with _bars(name, BarColumn(16), TimeElapsedColumn(), state) as progress:
        yield Labeling(progress, budget, num_runs, num_classes)


def balance(counts: Sequence[int]) -> str:
    """The class counts as a row of small bars, and the smallest over the largest."""
    largest = max(*counts, 1)
    bars = "".join(_LEVELS[round(count / largest * (len(_LEVELS) - 1))] for count in counts[:_MOST_CLASSES])
    return f"{bars} ratio {min(counts) / largest:.2f}"


class Training:
    """One bar over the episodes, with the means of the last few."""

    def __init__(self, progress: Progress, episodes: int) -> None:
        self._progress = progress
        self._task = progress.add_task("training", total=episodes, state="")

    def played(self, episode: int, curve: Sequence[dict[str, float]]) -> None:
        recent = curve[-20:]
        mean = {key: sum(point[key] for point in recent) / len(recent) for key in recent[-1]}
        state = (
            f"episode {episode}  reward {mean['reward']:.2f}  ratio {mean['imbalance_ratio']:.2f}  "
            f"Macro-F1 {100 * mean['macro_f1']:.1f}  entropy {mean['entropy']:.2f}"
        )
        speed = self._progress.tasks[self._task].speed
        if speed:
            state += f"  {speed:.1f} episodes/s"
        self._progress.update(self._task, completed=episode, state=state)


@contextmanager
def training(episodes: int) -> Iterator[Training]:
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

    state = TextColumn("{task.fields[state]}", markup=False)
    with _bars(BarColumn(24), state, TimeRemainingColumn()) as progress:
        yield Training(progress, episodes)
