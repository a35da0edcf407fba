"""What speaks for asking a node: columns, predicted classes, expected balance; in numbers and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gcbr import metrics, scores
from gcbr.state import GCBR_PLUS_COLUMNS, GraphFacts, state_columns
from gcbr.strategies.learned import situation
from gcbr.view import View

TITLES = {
    "centrality": "how central it is",
    "uncertainty": "how unsure its prediction is",
    "class_diversity": "how few labels its likely classes have",
    "selectivity": "whether it is labeled",
    "criteria_similarity": "how unlike the labeled nodes it is",
    "majority_score": "how likely its class has its share already",
}

# What a high percentile of a column says in favor of a node.
_PRAISE = {
    "centrality": "more central than {share}% of the nodes",
    "uncertainty": "its prediction is less sure than {share}% of all",
    "criteria_similarity": "differs more from the labeled nodes than {share}% of the nodes do",
}
_NOTABLE = 75  # percentile from which on a column is worth a word
_MOST_PRAISE = 2  # columns in one sentence


@dataclass(frozen=True)
class Column:
    """One column of the policy's state, for one node."""

    name: str
    value: float
    percentile: float  # 0 to 100: the share of all nodes with a smaller value, ties counted half
    title: str  # in plain words


@dataclass(frozen=True)
class LabeledNeighbor:
    node: int
    name: str
    cls: str  # name of its class


@dataclass(frozen=True)
class Explanation:
    """Why a node is worth asking, as the classifier and the labels stand."""

    node: int
    name: str
    columns: tuple[Column, ...]  # the six of GCBR++, in their order
    predicted: tuple[tuple[str, float], ...]  # class names and probabilities, the likeliest first
    expected_balance_before: float  # imbalance ratio of the labels, earlier nodes of the batch expected
    expected_balance_after: float  # the same once this node counts with its predicted probabilities
    neighbors: tuple[LabeledNeighbor, ...]  # those with a label, by number
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """As plain values, ready for `json.dumps`; a neighbor's class stands under `class`."""
        plain = asdict(self)
        plain["predicted"] = [{"class": cls, "probability": share} for cls, share in self.predicted]
        plain["neighbors"] = [{"node": n.node, "name": n.name, "class": n.cls} for n in self.neighbors]
        plain["columns"] = list(plain["columns"])
        return plain


def explain(view: View, node: int, class_names: Sequence[str], facts: GraphFacts) -> Explanation:
    """What speaks for `node` in this view; nodes pending there count by their predicted probabilities."""
    columns = _columns(view, node, facts)
    predicted = _predicted(view, node, class_names)
    neighbors = _labeled_neighbors(view, node, class_names)
    is_counted = node in view.labels.nodes or node in view.pending
    after = view.counts if is_counted else view.counts + view.prediction.probabilities[node]
    return Explanation(
        node=node,
        name=view.graph.name_of(node),
        columns=columns,
        predicted=predicted,
        expected_balance_before=float(metrics.imbalance_ratio(view.counts)),
        expected_balance_after=float(metrics.imbalance_ratio(after)),
        neighbors=neighbors,
        sentence=_sentence(view, node, class_names, columns, predicted, neighbors),
    )


def _columns(view: View, node: int, facts: GraphFacts) -> tuple[Column, ...]:
    table = state_columns(situation(facts, view), GCBR_PLUS_COLUMNS)[0].T.contiguous()  # [columns, nodes]
    ranks = 100 * scores.percentile_of(table, node)
    return tuple(
        Column(name, float(values[node]), float(percentile), TITLES[name])
        for name, values, percentile in zip(GCBR_PLUS_COLUMNS, table, ranks, strict=True)
    )


def _predicted(view: View, node: int, class_names: Sequence[str]) -> tuple[tuple[str, float], ...]:
    shares = view.prediction.probabilities[node].tolist()
    named = zip(class_names, shares, strict=False)  # with no class known there is one column, and no name
    return tuple(sorted(named, key=lambda pair: -pair[1]))


def _labeled_neighbors(view: View, node: int, class_names: Sequence[str]) -> tuple[LabeledNeighbor, ...]:
    answers = dict(zip(view.labels.nodes, view.labels.classes, strict=True))
    return tuple(
        LabeledNeighbor(other, view.graph.name_of(other), class_names[answers[other]])
        for other in view.graph.neighbors(node)
        if other in answers
    )


def _sentence(
    view: View,
    node: int,
    class_names: Sequence[str],
    columns: Sequence[Column],
    predicted: Sequence[tuple[str, float]],
    neighbors: Sequence[LabeledNeighbor],
) -> str:
    if node in view.labels.nodes:
        cls = view.labels.classes[view.labels.nodes.index(node)]
        return f"Labeled {class_names[cls]} already."
    told = (
        columns if view.labels else columns[:1]
    )  # with nothing labeled, only its place in the graph is known
    parts = [*_guess(view, class_names, predicted), *_praise(told)]
    if view.labels and not neighbors:
        parts += _lonely(int(view.graph.degree[node]))
    if not parts:
        centrality = int(columns[0].percentile)
        start = "nothing is labeled yet" if not view.labels else "no single criterion stands out"
        parts = [start, f"more central than {centrality}% of the nodes"]
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _guess(view: View, class_names: Sequence[str], predicted: Sequence[tuple[str, float]]) -> list[str]:
    """The likeliest class and what it needs; nothing while all classes are equally likely."""
    if len(predicted) < 2 or predicted[0][1] == predicted[-1][1]:
        return []
    cls, probability = predicted[0]
    count = int(view.labels.counts(view.num_classes)[class_names.index(cls)])
    share = view.budget / view.num_classes
    if count == 0:
        need = "a class with no label yet"
    elif count < share:
        need = f"a class with {count} of its share of {share:.0f} labels"
    else:
        need = "a class that has its share of labels"
    return [f"{'probably' if probability >= 0.5 else 'perhaps'} {cls} ({probability:.0%}), {need}"]


def _praise(columns: Sequence[Column]) -> list[str]:
    """The columns in which few nodes come before this one."""
    notable = [column for column in columns if column.name in _PRAISE and column.percentile >= _NOTABLE]
    notable.sort(key=lambda column: -column.percentile)
    return [_PRAISE[column.name].format(share=int(column.percentile)) for column in notable[:_MOST_PRAISE]]


def _lonely(degree: int) -> list[str]:
    """What to say of a node without a labeled neighbor."""
    if degree < 2:
        return ["its only neighbor is not labeled"] if degree else ["it has no neighbors"]
    return [f"none of its {degree} neighbors is labeled"]
