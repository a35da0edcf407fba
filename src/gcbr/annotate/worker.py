"""A thread that owns the learner: it learns from the answers and keeps the next nodes ready.

Nobody waits for it. It is woken, reads what is wanted, and publishes a `Snapshot`; pages read the last one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from gcbr.errors import InputError
from gcbr.explain import Explanation
from gcbr.learner import ActiveLearner, Progress
from gcbr.stopping import StopHint

LearnerFactory = Callable[[int, Mapping[int, str]], ActiveLearner]  # the budget, and the labels so far

_EXPLAINED_AT_ONCE = 2  # nodes whose reasons are worked out before anything else is done


@dataclass(frozen=True)
class Wanted:
    """The answers as they stand, and how many nodes shall be ready."""

    num_changes: int  # of the ledger, to tell how far behind a snapshot is
    labels: Mapping[int, str]  # in the order a learner is to be told
    skips: frozenset[int]
    budget: int
    num_ready: int


@dataclass(frozen=True, eq=False)
class Suggestion:
    """A node to ask, and why, once that has been worked out."""

    node: int
    explanation: Explanation | None = None


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What the learner last said. Pages read nothing else of it."""

    num_changes: int = 0  # of the ledger, as far as it knows of them
    num_reading: int = 0  # answers to learn from before the first choice, while a project opens
    num_left: int = 0  # nodes that can still be asked within the budget
    class_names: tuple[str, ...] = ()
    probabilities: npt.NDArray[np.float32] | None = None  # [num_nodes, num_classes]; None until taught
    queue: tuple[Suggestion, ...] = ()  # the nodes to ask next, the most wanted first
    progress: Progress | None = None
    hint: StopHint | None = None
    is_ready: bool = False  # whether the first choice has been made
    trouble: str = ""  # why choosing has stopped, if it has


_Job = tuple[Callable[[ActiveLearner], Any], Future[Any]]


class Worker:
    """Start it, wake it after every answer, read `snapshot`, stop it."""

    def __init__(
        self,
        make_learner: LearnerFactory,
        wanted: Callable[[], Wanted],
        on_learned: Callable[[Snapshot], None],
    ) -> None:
        self.snapshot = Snapshot()
        self._make_learner = make_learner
        self._wanted = wanted
        self._on_learned = on_learned
        self._pupil: _Pupil | None = None
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._is_woken = threading.Event()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="gcbr-worker", daemon=True)

    def start(self) -> None:
        self._is_woken.set()
        self._thread.start()

    def wake(self) -> None:
        self._is_woken.set()

    def stop(self, seconds: float = 5.0) -> None:
        """Ask it to end, and wait a little: a choice under way is not cut short."""
        self._is_stopped = True
        self._is_woken.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def call(self, job: Callable[[ActiveLearner], Any]) -> Future[Any]:
        """Have something done with the learner once it has learned from everything."""
        future: Future[Any] = Future()
        self._jobs.put((job, future))
        self.wake()
        return future

    def _run(self) -> None:
        while True:
            self._is_woken.wait()
            self._is_woken.clear()
            if self._is_stopped:
                return
            jobs = self._take_jobs()  # before the answers are read: a job sees those given before it
            try:
                self._round(self._wanted(), jobs)
            except Exception as error:  # the page goes on recording answers, and says what happened here
                reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
                self.snapshot = replace(self.snapshot, is_ready=True, trouble=reason)
                self._pupil = None
                self._do_jobs(jobs, _failing(reason))

    def _round(self, wanted: Wanted, jobs: Iterable[_Job] = ()) -> None:
        pupil = self._taught(wanted)
        if not pupil.is_served_by(self.snapshot, wanted):
            self.snapshot = pupil.snapshot(wanted, known=self.snapshot.queue)
            pupil.num_changes = wanted.num_changes
            self._on_learned(self.snapshot)
            self._explain(pupil.learner)
        self._do_jobs(jobs, lambda job: job(pupil.learner))

    def _explain(self, learner: ActiveLearner) -> None:
        """Work out the reasons one by one; beyond the first nodes, looked at soon, news come first."""
        chosen = [suggestion.node for suggestion in self.snapshot.queue]
        for rank, node in enumerate(chosen):
            if self._is_stopped or (rank >= _EXPLAINED_AT_ONCE and self._is_woken.is_set()):
                return
            reasons = learner.explain(node, after=chosen[:rank])
            queue = list(self.snapshot.queue)
            queue[rank] = Suggestion(node, reasons)
            self.snapshot = replace(self.snapshot, queue=tuple(queue))

    def _taught(self, wanted: Wanted) -> _Pupil:
        """A pupil that has been told all answers in their order."""
        if not self.snapshot.is_ready:
            self.snapshot = replace(self.snapshot, num_reading=len(wanted.labels))
        if self._pupil is None or self._pupil.learner.budget != wanted.budget:
            self._pupil = self._fresh(wanted)
        self._pupil.catch_up(wanted)
        if self._pupil.learner.labels.nodes != tuple(wanted.labels):
            # An answer came, went and came back between two rounds: its place is an earlier one.
            self._pupil = self._fresh(wanted)
            self._pupil.catch_up(wanted)
        return self._pupil

    def _fresh(self, wanted: Wanted) -> _Pupil:
        return _Pupil(self._make_learner(wanted.budget, wanted.labels), wanted.labels)

    def _take_jobs(self) -> list[_Job]:
        jobs = []
        while True:
            try:
                jobs.append(self._jobs.get_nowait())
            except Empty:
                return jobs

    def _do_jobs(self, jobs: Iterable[_Job], do: Callable[[Callable[[ActiveLearner], Any]], Any]) -> None:
        for job, future in jobs:
            try:
                if self._is_stopped:
                    raise InputError("The project was closed before this was done.")
                future.set_result(do(job))
            except Exception as error:  # the one who waits for the job hears of it
                future.set_exception(error)


def _failing(reason: str) -> Callable[[Callable[[ActiveLearner], Any]], Any]:
    def fail(_: Callable[[ActiveLearner], Any]) -> Any:
        raise InputError(reason)

    return fail


class _Pupil:
    """A learner, and what it has been told."""

    def __init__(self, learner: ActiveLearner, labels: Mapping[int, str]) -> None:
        self.learner = learner
        self.num_changes = -1  # of the ledger, when its last snapshot was made
        self._labels = dict(labels)
        self._skips: frozenset[int] = frozenset()

    def catch_up(self, wanted: Wanted) -> None:
        """Tell the learner what it does not know yet."""
        for node in self._skips - wanted.skips:
            if node not in wanted.labels:  # telling a skipped node its label ends the skip by itself
                self.learner.withdraw(node)
        for node in self._labels.keys() - wanted.labels.keys():
            self.learner.withdraw(node)
        for node, label in wanted.labels.items():
            if node not in self._labels:
                self.learner.tell(node, label)
            elif self._labels[node] != label:
                self.learner.correct(node, label)
        for node in wanted.skips - self._skips:
            self.learner.skip(node)
        self._labels, self._skips = dict(wanted.labels), wanted.skips

    def is_served_by(self, snapshot: Snapshot, wanted: Wanted) -> bool:
        """Whether choosing again would change nothing."""
        return self.num_changes == wanted.num_changes and len(snapshot.queue) >= min(
            wanted.num_ready, snapshot.num_left
        )

    def snapshot(self, wanted: Wanted, known: Iterable[Suggestion]) -> Snapshot:
        """The choice as of now; reasons worked out earlier stand until there are new ones."""
        learner, reasons = self.learner, {one.node: one.explanation for one in known}
        progress = learner.progress()
        chosen = learner.ask(min(wanted.num_ready, progress.left)) if progress.left else []
        return Snapshot(
            num_changes=wanted.num_changes,
            num_left=progress.left,
            class_names=learner.class_names,
            probabilities=learner.prediction().probabilities.cpu().numpy() if wanted.labels else None,
            queue=tuple(Suggestion(node, reasons.get(node)) for node in chosen),
            progress=progress,
            hint=learner.stop_hint(),
            is_ready=True,
        )
