"""What the rows of answers add up to: the labels that stand, the skips, the opinions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from gcbr.annotate.store import GIVEN, LABEL, SECOND, UNDO, Answer


@dataclass(frozen=True)
class Standing:
    """How one node stands."""

    label: str | None = None
    annotator: str = ""  # whose word the label, or the skip, is
    at: str = ""
    is_skipped: bool = False
    opinions: Mapping[str, str] = field(default_factory=dict)  # who said what, the first answer first
    passed: frozenset[str] = frozenset()  # who was asked for a second opinion and had none
    is_settled: bool = False  # somebody has looked at it again and decided

    @property
    def is_open(self) -> bool:
        return self.label is None and not self.is_skipped

    @property
    def is_disputed(self) -> bool:
        return len(set(self.opinions.values())) > 1


OPEN = Standing()


def after(standing: Standing, row: Answer) -> Standing:
    """How a node stands after one more row about it."""
    match row.kind:
        case "given" | "label":
            opinions = {row.annotator: row.label or ""} if row.kind == LABEL else {}
            return Standing(row.label, row.annotator, row.at, opinions=opinions)
        case "second":
            return replace(standing, opinions={**standing.opinions, row.annotator: row.label or ""})
        case "correct":
            return replace(standing, label=row.label, annotator=row.annotator, at=row.at, is_settled=True)
        case "skip":
            if standing.label is not None:
                return replace(standing, passed=standing.passed | {row.annotator})
            return Standing(annotator=row.annotator, at=row.at, is_skipped=True)
    return OPEN  # withdrawn


class Ledger:
    """The sum of all rows, kept up to date row by row. Only nodes with rows take any room."""

    def __init__(self, rows: Iterable[Answer] = ()) -> None:
        self.num_changes = 0  # rows that a learner would notice
        self._rows: dict[int, list[Answer]] = defaultdict(list)  # by node, without those undone
        self._standing: dict[int, Standing] = {}
        self._rank: dict[int, int] = {}  # of every node ever labeled: the row of its first label
        self._acts: dict[str, list[Answer]] = defaultdict(list)  # by annotator, without those undone
        for row in rows:
            self.add(row)

    def add(self, row: Answer) -> None:
        self.num_changes += row.kind != SECOND
        rows = self._rows[row.node]
        if row.kind == UNDO:
            undone = next(act for act in rows if act.id == row.undoes)
            rows.remove(undone)
            self._acts[undone.annotator].remove(undone)
        else:
            rows.append(row)
            if row.kind != GIVEN:
                self._acts[row.annotator].append(row)
        if row.kind in (GIVEN, LABEL):
            self._rank.setdefault(row.node, row.id)
        self._settle(row.node)

    def of(self, node: int) -> Standing:
        return self._standing.get(node, OPEN)

    @property
    def standings(self) -> Mapping[int, Standing]:
        """Every node that is not open."""
        return MappingProxyType(self._standing)

    @property
    def has_rows_of(self) -> frozenset[int]:
        return frozenset(self._rows)

    def labels(self) -> dict[int, str]:
        """The labels that stand, in the order of each node's first label: what a learner is told."""
        nodes = (node for node, standing in self._standing.items() if standing.label is not None)
        return {node: self._standing[node].label or "" for node in sorted(nodes, key=self._rank.__getitem__)}

    def skips(self) -> frozenset[int]:
        return frozenset(node for node, standing in self._standing.items() if standing.is_skipped)

    @property
    def num_labels(self) -> int:
        return sum(standing.label is not None for standing in self._standing.values())

    def last_act(self, annotator: str) -> Answer | None:
        """What this person did last and has not undone."""
        acts = self._acts.get(annotator)
        return acts[-1] if acts else None

    def is_last_of_node(self, row: Answer) -> bool:
        """Whether nobody has touched the node since."""
        rows = self._rows.get(row.node, [])
        return bool(rows) and rows[-1].id == row.id

    def annotators(self) -> dict[str, int]:
        """Everybody who has answered, and how many of their answers stand."""
        return {name: len(acts) for name, acts in self._acts.items()}

    def asked_twice(self) -> Iterator[tuple[int, Standing]]:
        """Nodes that two people or more have given their opinion of."""
        return ((node, s) for node, s in self._standing.items() if len(s.opinions) > 1)

    def _settle(self, node: int) -> None:
        standing = OPEN
        for row in self._rows[node]:
            standing = after(standing, row)
        if standing == OPEN:
            self._standing.pop(node, None)
        else:
            self._standing[node] = standing
