"""What to label next, from a graph and the labels at hand alone: one question, one answer, nothing kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from gcbr.explain import Explanation
from gcbr.graph import Graph
from gcbr.homophily import Homophily, homophily
from gcbr.learner import ActiveLearner, Progress
from gcbr.simulation import LABELS_PER_CLASS
from gcbr.stopping import StopHint
from gcbr.strategies import DEFAULT_STRATEGY


@dataclass(frozen=True)
class Suggestion:
    nodes: tuple[Explanation, ...]  # to be labeled next, the most wanted first
    progress: Progress
    stop_hint: StopHint
    homophily: Homophily

    def to_json(self) -> dict[str, Any]:
        """As plain values, ready for `json.dumps`."""
        return {
            "nodes": [node.to_json() for node in self.nodes],
            "progress": asdict(self.progress),
            "stop_hint": asdict(self.stop_hint),
            "homophily": self.homophily._asdict() | {"is_low": self.homophily.is_low},
        }


def suggest(
    graph: Graph,
    labels: Mapping[int, str],
    k: int = 1,
    *,
    budget: int | None = None,
    classes: Iterable[str] = (),
    candidates: Tensor | None = None,
    strategy: str = DEFAULT_STRATEGY,
    seed: int = 0,
    sample: int | None = None,
) -> Suggestion:
    """The next `k` nodes, each with what speaks for it; see `default_budget` for the budget.

    With `sample`, they are chosen among so many candidates drawn at random.
    """
    declared = tuple(classes)
    if budget is None:
        budget = default_budget(graph, labels, k, declared, candidates)
    learner = ActiveLearner(
        graph,
        strategy,
        budget=budget,
        seed=seed,
        classes=declared,
        candidates=candidates,
        labels=labels,
        sample=sample,
    )
    asked = learner.ask(k)
    return Suggestion(
        nodes=tuple(learner.explain(node, after=asked[:place]) for place, node in enumerate(asked)),
        progress=learner.progress(),
        stop_hint=learner.stop_hint(),
        homophily=homophily(graph, learner.labels),
    )


def default_budget(
    graph: Graph, labels: Mapping[int, str], k: int, classes: Iterable[str], candidates: Tensor | None
) -> int:
    """20 for each class known, at least the labels given and `k` more, and never more than can be labeled."""
    num_classes = max(1, len({*classes, *labels.values()}))
    is_labelable = torch.ones(graph.num_nodes, dtype=torch.bool, device=graph.device)
    if candidates is not None:
        is_labelable.zero_()[candidates] = True
        is_labelable[list(labels)] = True
    wanted = max(LABELS_PER_CLASS * num_classes, len(labels) + k)
    return max(1, min(wanted, int(is_labelable.sum())))
