"""The policy's input: named columns, one number per node each. Training and use build it right here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gcbr import actions, divergence, scores
from gcbr.engine.matrix import Csr
from gcbr.graph import Graph

MANY_NEIGHBORS = 20  # GPA's: beyond this many, one more tells nothing


class GraphFacts:
    """What the columns need of a graph and what no answer changes; computed once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def pagerank(self) -> Tensor:
        return scores.pagerank(self.graph.adjacency)

    @cached_property
    def centrality(self) -> Tensor:
        """PageRank as log(1 + N r), so that graphs of any size and any hubs compare.

        The average node is at log 2, an isolated one near 0, the largest hubs at 4 to 6.
        """
        return (self.pagerank * self.graph.num_nodes).log1p()

    @cached_property
    def relative_centrality(self) -> Tensor:
        """PageRank as a share of the largest hub's: small beside the other columns for all but a few."""
        return self.pagerank / self.pagerank.max()

    @cached_property
    def degree(self) -> Tensor:
        """The number of neighbors as GPA reads it: 1 for many."""
        return (self.graph.degree / MANY_NEIGHBORS).clamp(max=1)

    @cached_property
    def neighbors(self) -> Csr:
        return divergence.mean_over_neighbors(self.graph.adjacency)

    @cached_property
    def representatives(self) -> Tensor:
        return actions.representatives(self.graph.adjacency)


@dataclass(frozen=True, eq=False)
class Situation:
    """Where E labelings of one graph stand. A node chosen but not answered yet counts as labeled."""

    facts: GraphFacts
    probabilities: Tensor  # [E, nodes, classes]
    labeled: Tensor  # [E, labels] node ids
    answers: Tensor  # [E, labels, classes]: one-hot truth, or what is expected of a node not answered yet
    counts: Tensor  # [E, classes] float, the sum of `answers`
    budget: int

    def with_answers(self, guessed: Tensor, known: Tensor) -> Tensor:
        """`guessed`, [E, nodes], with the labeled nodes' entries replaced by `known`, [E, labels]."""
        return guessed.scatter(-1, self.labeled, known)

    @cached_property
    def divergences(self) -> tuple[Tensor, Tensor]:
        """Of each prediction from the neighbors', and of theirs from it; one product serves two columns."""
        return divergence.divergences(self.probabilities, self.facts.neighbors)


def expected_answers(probabilities: Tensor) -> Tensor:
    """What a node not answered yet counts as: its likeliest class, or its part of each that is as likely.

    [..., classes], each row summing to 1. With nothing known of any class, all have their part.
    """
    is_likeliest = (probabilities == probabilities.amax(-1, keepdim=True)).float()
    return is_likeliest / is_likeliest.sum(-1, keepdim=True)


def centrality(situation: Situation) -> Tensor:
    return situation.facts.centrality.expand(len(situation.counts), -1)


def relative_centrality(situation: Situation) -> Tensor:
    return situation.facts.relative_centrality.expand(len(situation.counts), -1)


def uncertainty(situation: Situation) -> Tensor:
    return scores.entropy(situation.probabilities)


def _by_class(situation: Situation, score: Callable[[Tensor], Tensor]) -> Tensor:
    """What a score makes of each node's predicted classes, or of its answer where there is one."""
    return situation.with_answers(score(situation.probabilities), score(situation.answers))


def class_diversity(situation: Situation) -> Tensor:
    return _by_class(situation, lambda rows: scores.class_diversity(rows, situation.counts))


def relative_class_diversity(situation: Situation) -> Tensor:
    """Five labels against ten tell classes apart as well as one against two; 1/5 and 1/10 do not."""
    return _by_class(situation, lambda rows: scores.relative_class_diversity(rows, situation.counts))


def paced_class_diversity(situation: Situation) -> Tensor:
    """Twenty labels that fill a share of twenty look like five that fill one of five."""
    counts = scores.paced(situation.counts, situation.budget)
    return _by_class(situation, lambda rows: scores.class_diversity(rows, counts))


def selectivity(situation: Situation) -> Tensor:
    """The paper's Eq. 5: 1 for a labeled node, else 0."""
    labeled = situation.labeled
    nothing = torch.zeros(situation.probabilities.shape[:-1], device=labeled.device)
    return situation.with_answers(nothing, torch.ones(labeled.shape, device=labeled.device))


def majority_score(situation: Situation) -> Tensor:
    counts, budget = situation.counts, situation.budget
    return _by_class(situation, lambda rows: scores.majority_score(rows, counts, budget))


def degree(situation: Situation) -> Tensor:
    return situation.facts.degree.expand(len(situation.counts), -1)


def divergence_from_neighbors(situation: Situation) -> Tensor:
    return divergence.share_of_largest(situation.divergences[0])


def divergence_to_neighbors(situation: Situation) -> Tensor:
    return divergence.share_of_largest(situation.divergences[1])


# The criteria are what similarity to the labeled nodes is measured on.
CRITERIA: dict[str, Callable[[Situation], Tensor]] = {
    "centrality": centrality,
    "relative_centrality": relative_centrality,
    "uncertainty": uncertainty,
    "class_diversity": class_diversity,
    "relative_class_diversity": relative_class_diversity,
    "paced_class_diversity": paced_class_diversity,
    "selectivity": selectivity,
}
_OTHERS: dict[str, Callable[[Situation], Tensor]] = {
    "majority_score": majority_score,
    "degree": degree,
    "divergence_from_neighbors": divergence_from_neighbors,
    "divergence_to_neighbors": divergence_to_neighbors,
}
SIMILARITY = "criteria_similarity"
KNOWN_COLUMNS = (*CRITERIA, SIMILARITY, *_OTHERS)
GCBR_COLUMNS = ("centrality", "uncertainty", "class_diversity", "selectivity", SIMILARITY)
GCBR_PLUS_COLUMNS = (*GCBR_COLUMNS, "majority_score")
# Those that need nothing of the other nodes but which are labeled.
LOCAL_COLUMNS = {*CRITERIA, SIMILARITY, "majority_score"}
GPA_COLUMNS = (
    "uncertainty",
    "degree",
    "divergence_from_neighbors",
    "divergence_to_neighbors",
    "selectivity",
)


def state_columns(situation: Situation, columns: Sequence[str]) -> Tensor:
    """The named columns side by side, [E, nodes, columns]."""
    built = {name: column(situation) for name, column in (CRITERIA | _OTHERS).items() if name in columns}
    if SIMILARITY in columns:
        criteria = torch.stack([built[name] for name in CRITERIA if name in built], dim=-2)
        built[SIMILARITY] = scores.distance_to_nearest(criteria.mT, situation.labeled)
    # Nodes lead in memory, as every propagation wants them.
    return torch.stack([built[name].T for name in columns], dim=-1).transpose(0, 1)
