"""Who gets which node: one person at a time, some nodes twice, none beyond the budget."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gcbr.annotate.leases import Leases
from gcbr.annotate.ledger import Ledger, Standing
from gcbr.annotate.settings import Settings
from gcbr.annotate.worker import Suggestion
from gcbr.explain import Explanation

SPARE = 8  # nodes ready beyond those in people's hands, at least
MAX_SPARE = 100


@dataclass(frozen=True)
class Assignment:
    """The node a person is to look at now, or why there is none."""

    state: Literal["ready", "loading", "waiting", "finished"]
    node: int | None = None
    explanation: Explanation | None = None
    is_second: bool = False  # somebody else has answered it: this is to be a second opinion


class Desk:
    """Hands out nodes from the queue of those chosen. Whoever calls it sees to it that nobody else does."""

    def __init__(self, num_nodes: int, settings: Settings, ledger: Ledger, leases: Leases) -> None:
        self.settings = settings
        self._num_nodes = num_nodes
        self._ledger = ledger
        self._leases = leases
        self._allowed = None if settings.candidates is None else frozenset(settings.candidates)
        self._waiting: set[str] = set()  # people for whom no node was ready

    def assign(self, annotator: str, queue: Sequence[Suggestion]) -> Assignment:
        """The node in this person's hands, or else a second opinion that is wanted, or else a new node."""
        held = self._leases.of(annotator)
        if held is not None and self._may_answer(annotator, held):
            return self._ready(held, queue)
        others = self._leases.held_by_others(annotator)
        second = next(self._awaiting_second(annotator, others), None)
        if second is not None:
            self.hand(annotator, second)
            return self._ready(second, queue)
        num_labels = self._ledger.num_labels
        if num_labels >= self.settings.budget or not self.num_open():
            return Assignment("finished")
        num_open_elsewhere = sum(self._ledger.of(node).is_open for node in others)
        if num_labels + num_open_elsewhere >= self.settings.budget:
            return Assignment("waiting")
        for suggestion in queue:
            if self._is_free(suggestion.node, others):
                self.hand(annotator, suggestion.node)
                return self._ready(suggestion.node, queue)
        self._waiting.add(annotator)
        return Assignment("loading")

    def hand(self, annotator: str, node: int) -> None:
        self._leases.take(annotator, node)
        self._waiting.discard(annotator)

    def renew(self, annotator: str) -> None:
        self._leases.of(annotator)

    def put_away(self, annotator: str, node: int) -> None:
        """This person is done with the node."""
        self._leases.release_from(annotator, node)

    def on_the_table(self, queue: Sequence[Suggestion]) -> list[Suggestion]:
        """The nodes to come, those in somebody's hands left out."""
        held = self._leases.all_held()
        return [one for one in queue if self._is_free(one.node, held)]

    def may_be_asked(self, node: int) -> bool:
        return self._allowed is None or node in self._allowed

    def lacks_second(self, annotator: str, node: int, standing: Standing) -> bool:
        """Whether this person's opinion is wanted of a node that somebody else has labeled."""
        has_one = len(standing.opinions) == 1 and not standing.is_settled
        has_spoken = annotator in standing.opinions or annotator in standing.passed
        return has_one and not has_spoken and self.is_doubled(node)

    def is_doubled(self, node: int) -> bool:
        """Whether a node is one of those given twice: drawn from the seed, so always the same ones."""
        draw = random.Random(f"{self.settings.seed}:{node}").random()
        return draw < self.settings.overlap

    def num_open(self) -> int:
        """Nodes that may still be asked, whatever the budget."""
        total = self._num_nodes if self._allowed is None else len(self._allowed)
        return total - sum(map(self.may_be_asked, self._ledger.standings))

    def num_wanted(self, num_behind: int) -> int:
        """Nodes that should be ready: those in people's hands, and enough until the next choice is made.

        Where learning is slow, answers pile up while it goes on, and so many more are needed.
        """
        num_people = len(self._leases.all_held()) + len(self._waiting)
        return num_people + min(MAX_SPARE, max(SPARE, 2 * num_people, 2 * num_behind))

    def forget_waiting(self) -> None:
        """Nodes are being chosen for them; whoever still waits asks again."""
        self._waiting.clear()

    def _ready(self, node: int, queue: Sequence[Suggestion]) -> Assignment:
        explanation = next((one.explanation for one in queue if one.node == node), None)
        return Assignment("ready", node, explanation, is_second=self._ledger.of(node).label is not None)

    def _may_answer(self, annotator: str, node: int) -> bool:
        standing = self._ledger.of(node)
        return standing.is_open or self.lacks_second(annotator, node, standing)

    def _awaiting_second(self, annotator: str, held: set[int]) -> Iterator[int]:
        if self.settings.overlap:
            for node, standing in self._ledger.standings.items():
                if node not in held and self.lacks_second(annotator, node, standing):
                    yield node

    def _is_free(self, node: int, held: set[int]) -> bool:
        return node not in held and self._ledger.of(node).is_open
