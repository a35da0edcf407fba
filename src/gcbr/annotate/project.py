"""One labeling of one graph by one person or several: everything that can be done with it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch

from gcbr.annotate.cards import Cards
from gcbr.annotate.desk import Assignment, Desk
from gcbr.annotate.leases import SECONDS, Leases
from gcbr.annotate.ledger import Ledger, Standing
from gcbr.annotate.settings import Settings, Wishes, save, settled
from gcbr.annotate.store import (
    CORRECT,
    GIVEN,
    LABEL,
    SECOND,
    SKIP,
    UNDO,
    WITHDRAW,
    Answer,
    Moment,
    NewAnswer,
    StorageError,
    Store,
)
from gcbr.annotate.worker import Snapshot, Suggestion, Wanted, Worker
from gcbr.errors import InputError
from gcbr.graph import Graph
from gcbr.learner import ActiveLearner
from gcbr.strategies import find_strategy

MAX_CLASS_NAME = 100  # characters
MAX_ANNOTATOR_NAME = 60


class Refused(InputError):
    """The labeling stands otherwise than the request supposes: somebody was faster, or it was done before."""


class NotFound(InputError):
    """There is no such node, or no such file."""


@dataclass(frozen=True)
class ClassCount:
    name: str
    count: int
    target: float  # its share of the budget


@dataclass(frozen=True)
class Dispute:
    node: int
    standing: Standing


@dataclass(frozen=True)
class Agreement:
    """Over the nodes that several people have answered."""

    num_nodes: int
    num_agreed: int
    disputes: tuple[Dispute, ...]  # not settled by a correction yet


class Project:
    """Everything the page can do, with no word of HTTP. Every method may be called from any thread."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        cards: Cards,
        clock: Callable[[], float] = time.monotonic,
        lease_seconds: float = SECONDS,
        device: torch.device | str = "cpu",
    ) -> None:
        self.cards = cards
        self.graph = cards.graph
        self._store = store
        self._settings = settings
        self._device = device  # of the learner; what is shown and written is read from the graph as it is
        self._lock = threading.Lock()  # of the ledger, the leases and the settings
        self._ledger = Ledger(store.answers())
        self._desk = Desk(cards.graph.num_nodes, settings, self._ledger, Leases(clock, lease_seconds))
        self._moments = store.moments()
        self._worker = Worker(self._make_learner, self._wanted, self._keep_moment)

    @classmethod
    def open(
        cls,
        path: str | Path,
        graph: Graph,
        wishes: Wishes | None = None,
        *,
        cards: Cards | None = None,
        clock: Callable[[], float] = time.monotonic,
        lease_seconds: float = SECONDS,
        device: torch.device | str = "cpu",
    ) -> Self:
        """Begin a project, or go on with the one in the file. Close it when done."""
        wishes = wishes or Wishes()
        if wishes.strategy is not None:
            find_strategy(wishes.strategy)  # a wrong name is told before a file is made
        store = Store(Path(path))
        try:
            settings = settled(store, graph, wishes)
            project = cls(store, settings, cards or Cards(graph), clock, lease_seconds, device)
            project._import(wishes.labels or {})
        except BaseException:
            store.close()
            raise
        project._worker.start()
        return project

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._worker.stop()
        self._store.close()

    @property
    def path(self) -> Path:
        return self._store.path

    @property
    def settings(self) -> Settings:
        return self._settings

    @property
    def snapshot(self) -> Snapshot:
        return self._worker.snapshot

    @property
    def worker(self) -> Worker:
        return self._worker

    @property
    def moments(self) -> Sequence[Moment]:
        return self._moments

    def next(self, annotator: str) -> Assignment:
        """The node this person is to look at: the one in their hands, or a new one."""
        with self._lock:
            assignment = self._desk.assign(annotator, self.snapshot.queue)
            num_missing = self._desk.num_wanted(self._num_behind()) - len(self.snapshot.queue)
        if num_missing > 0:
            self._worker.wake()
        return assignment

    def renew(self, annotator: str) -> None:
        """Whoever's page is open keeps the node in their hands."""
        with self._lock:
            self._desk.renew(annotator)

    def answer(self, annotator: str, node: int, label: str, request: str, *, is_new: bool = False) -> Answer:
        """Keep an answer. Of a node that somebody else has labeled, it is a second opinion."""
        label = self._checked_class(label, is_new=is_new)
        self._require_node(node)
        with self._lock:
            if repeated := self._repeated(request, annotator, node):
                return repeated
            standing = self._ledger.of(node)
            kind = LABEL
            if standing.label is not None:
                if annotator in standing.opinions or annotator == standing.annotator:
                    raise Refused(
                        f"You have labeled {self.graph.name_of(node)} already; correct it on the labels page."
                    )
                kind = SECOND
            return self._record(NewAnswer(annotator, node, kind, request, label))

    def skip(self, annotator: str, node: int, request: str) -> Answer:
        """Set a node aside: nobody is asked it again. Of a second opinion, this person alone passes."""
        self._require_node(node)
        with self._lock:
            if repeated := self._repeated(request, annotator, node):
                return repeated
            standing = self._ledger.of(node)
            if not standing.is_open and not self._desk.lacks_second(annotator, node, standing):
                raise Refused(f"{self.graph.name_of(node)} has been answered or skipped already.")
            if not self._desk.may_be_asked(node):
                raise Refused(f"{self.graph.name_of(node)} is no candidate: it would not be asked anyway.")
            return self._record(NewAnswer(annotator, node, SKIP, request))

    def undo(self, annotator: str, request: str) -> Answer:
        """Take back what this person did last; their node comes back into their hands."""
        with self._lock:
            if repeated := self._repeated(request, annotator, None):
                return repeated
            last = self._ledger.last_act(annotator)
            if last is None:
                raise Refused("There is nothing of yours to undo.")
            if not self._ledger.is_last_of_node(last):
                raise Refused(
                    f"{self.graph.name_of(last.node)} was changed by somebody else; see the labels page."
                )
            row = self._record(NewAnswer(annotator, last.node, UNDO, request, undoes=last.id))
            if last.kind in (LABEL, SECOND, SKIP):
                self._desk.hand(annotator, last.node)
            return row

    def correct(self, annotator: str, node: int, label: str, request: str, *, is_new: bool = False) -> Answer:
        """Replace a label; where opinions differ, this settles it."""
        label = self._checked_class(label, is_new=is_new)
        self._require_node(node)
        with self._lock:
            if repeated := self._repeated(request, annotator, node):
                return repeated
            self._require_label(node)
            return self._record(NewAnswer(annotator, node, CORRECT, request, label))

    def withdraw(self, annotator: str, node: int, request: str) -> Answer:
        """Take a label or a skip away: the node can be asked again."""
        self._require_node(node)
        with self._lock:
            if repeated := self._repeated(request, annotator, node):
                return repeated
            if self._ledger.of(node).is_open:
                raise Refused(f"{self.graph.name_of(node)} has neither a label nor a skip to withdraw.")
            return self._record(NewAnswer(annotator, node, WITHDRAW, request))

    def extend(self, num_more: int) -> int:
        """Raise the budget; gives the new one."""
        with self._lock:
            num_left = self._desk.num_open()
            base = max(self._settings.budget, self._ledger.num_labels)
            budget = min(base + num_more, self._ledger.num_labels + num_left)
            if budget <= self._settings.budget:
                raise Refused("Every node that may be asked is labeled or skipped; there are no more to ask.")
            self._change(self._settings.model_copy(update={"budget": budget}))
        self._worker.wake()
        return budget

    def standing(self, node: int) -> Standing:
        self._require_node(node)
        with self._lock:
            return self._ledger.of(node)

    def standings(self) -> dict[int, Standing]:
        """Every labeled or skipped node."""
        with self._lock:
            return dict(self._ledger.standings)

    def labels(self) -> dict[int, str]:
        """The labels that stand, in the order they were first given."""
        with self._lock:
            return self._ledger.labels()

    def class_names(self) -> tuple[str, ...]:
        """Those declared, then those met, in the order of the labels that stand."""
        return tuple(dict.fromkeys([*self._settings.classes, *self.labels().values()]))

    def class_counts(self) -> list[ClassCount]:
        counts = dict.fromkeys(self.class_names(), 0)
        for label in self.labels().values():
            counts[label] = counts.get(label, 0) + 1
        target = self._settings.budget / max(1, len(counts))
        return [ClassCount(name, count, target) for name, count in counts.items()]

    def num_labels(self) -> int:
        with self._lock:
            return self._ledger.num_labels

    def num_skips(self) -> int:
        with self._lock:
            return len(self._ledger.skips())

    def num_behind(self) -> int:
        """Answers that the choice of the next nodes does not know of yet."""
        with self._lock:
            return self._num_behind()

    def queue(self) -> list[Suggestion]:
        """The nodes to come, those in somebody's hands left out."""
        with self._lock:
            return self._desk.on_the_table(self.snapshot.queue)

    def annotators(self) -> dict[str, int]:
        with self._lock:
            return self._ledger.annotators()

    def agreement(self) -> Agreement:
        with self._lock:
            twice = list(self._ledger.asked_twice())
        disputed = [Dispute(node, standing) for node, standing in twice if standing.is_disputed]
        return Agreement(
            len(twice),
            len(twice) - len(disputed),
            tuple(one for one in disputed if not one.standing.is_settled),
        )

    # Under the lock from here on.

    def _num_behind(self) -> int:
        return max(0, self._ledger.num_changes - self.snapshot.num_changes)

    def _repeated(self, request: str, annotator: str, node: int | None) -> Answer | None:
        """The row of a request that was sent again, perhaps because its reply was lost."""
        row = self._store.answer_to(request)
        if row is not None and (row.annotator != annotator or node not in (None, row.node)):
            raise Refused(
                "This request was used for another answer; every answer needs a request of its own."
            )
        return row

    def _record(self, new: NewAnswer) -> Answer:
        (row,) = self._store.append([new], self._settings.strategy, self._settings.seed)
        self._ledger.add(row)
        self._desk.put_away(new.annotator, new.node)
        self._worker.wake()
        return row

    def _import(self, labels: Mapping[int, str]) -> None:
        """Labels at hand, of nodes that nobody has said anything about yet."""
        known = self._ledger.has_rows_of
        new = [
            NewAnswer("", node, GIVEN, f"given:{node}", self._checked_class(label, is_new=True))
            for node, label in labels.items()
            if node not in known
        ]
        for row in self._store.append(new, self._settings.strategy, self._settings.seed):
            self._ledger.add(row)

    def _change(self, settings: Settings) -> None:
        save(self._store, settings)
        self._settings = self._desk.settings = settings

    def _require_label(self, node: int) -> None:
        if self._ledger.of(node).label is None:
            raise Refused(f"{self.graph.name_of(node)} has no label to correct.")

    # Without the lock: nothing here changes.

    def _require_node(self, node: int) -> None:
        if not 0 <= node < self.graph.num_nodes:
            raise NotFound(f"There is no node {node}; nodes go from 0 to {self.graph.num_nodes - 1}.")

    def _checked_class(self, label: str, *, is_new: bool) -> str:
        name = " ".join(label.split())
        if not name or len(name) > MAX_CLASS_NAME or not name.isprintable():
            raise InputError(f"A class is a name of 1 to {MAX_CLASS_NAME} characters, not {label[:120]!r}.")
        if not is_new and name not in self.class_names():
            raise Refused(f"There is no class '{name}'; add it as a new one if it is meant.")
        return name

    # What the worker calls, from its own thread.

    def _make_learner(self, budget: int, labels: Mapping[int, str]) -> ActiveLearner:
        settings = self._settings
        _ = self.cards.centrality  # takes a second on a large graph: here nobody waits for it
        allowed = settings.candidates
        return ActiveLearner(
            self.graph.to(self._device),
            settings.strategy,
            budget=budget,
            seed=settings.seed,
            classes=settings.classes,
            candidates=None if allowed is None else torch.tensor(allowed, dtype=torch.long),
            labels=labels,
        )

    def _wanted(self) -> Wanted:
        with self._lock:
            num_ready = self._desk.num_wanted(self._num_behind())
            self._desk.forget_waiting()
            return Wanted(
                num_changes=self._ledger.num_changes,
                labels=self._ledger.labels(),
                skips=self._ledger.skips(),
                budget=self._settings.budget,
                num_ready=num_ready,
            )

    def _keep_moment(self, snapshot: Snapshot) -> None:
        """One more point of the small charts, if there is a label more or less."""
        progress, hint = snapshot.progress, snapshot.hint
        if progress is None or hint is None or not progress.given:
            return
        stability = hint.stability[-1] if hint.stability else None
        moment = Moment(snapshot.num_changes, progress.given, progress.rho, stability, hint.advice)
        if self._moments and self._moments[-1].changes >= moment.changes:
            return
        self._moments = [*self._moments, moment]
        with contextlib.suppress(StorageError):  # a point of a chart: the answers themselves are what counts
            self._store.save_moment(moment)


def checked_name(name: str) -> str:
    """The name of an annotator, as it will stand beside their answers."""
    plain = " ".join(name.split())
    if not plain or len(plain) > MAX_ANNOTATOR_NAME or not plain.isprintable():
        raise InputError(f"A name has 1 to {MAX_ANNOTATOR_NAME} characters, not {name[:80]!r}.")
    return plain
