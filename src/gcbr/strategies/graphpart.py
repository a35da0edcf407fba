"""GraphPart (Ma et al. 2022, "Partition-Based Active Learning for Graph Neural Networks").

Communities of the graph first, FeatProp inside each. The paper's greedy modularity is too slow for tens of
thousands of nodes, so communities here are Louvain's, which climbs the same modularity in seconds. Each
gets labels in proportion to its size; those too small for one are taken together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from gcbr import seeding
from gcbr.graph import Graph
from gcbr.strategies.by_cluster import ClusterRepresentatives
from gcbr.strategies.propagated import propagated_features
from gcbr.view import View


class GraphPart:
    """FeatProp inside each community, which has labels in proportion to its size."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        self._graph = graph
        self._budget = budget
        self._rng = rng

    def select(self, view: View) -> int:
        return self._representatives.next(view)

    @cached_property
    def _representatives(self) -> ClusterRepresentatives:
        # Not in the constructor: replaying answers builds strategies that are never asked.
        parts = merge_small(communities(self._graph, self._rng), self._graph.num_nodes // self._budget)
        points = propagated_features(self._graph, self._rng)
        sizes = proportional([len(part) for part in parts], self._budget)
        return ClusterRepresentatives(points, parts, sizes, self._rng)


def communities(graph: Graph, rng: torch.Generator) -> list[Tensor]:
    """Nodes of each community, both in ascending order; a node without edges is one by itself."""
    import networkx

    seed = seeding.integer(2**31, rng)
    network = networkx.empty_graph(graph.num_nodes)
    adjacency = graph.adjacency
    columns = (adjacency.row_of_entry.tolist(), adjacency.indices.tolist(), adjacency.values.tolist())
    network.add_weighted_edges_from(edge for edge in zip(*columns, strict=True) if edge[0] < edge[1])
    found = networkx.community.louvain_communities(network, seed=seed)
    ordered = sorted(sorted(community) for community in found)
    return [torch.tensor(nodes, device=graph.device) for nodes in ordered]


def merge_small(parts: Sequence[Tensor], least: int) -> list[Tensor]:
    """The parts of at least this many nodes; all others follow as one."""
    large = [part for part in parts if len(part) >= least]
    small = [part for part in parts if len(part) < least]
    return [*large, torch.cat(small)] if small else large


def proportional(sizes: Sequence[int], total: int) -> list[int]:
    """`total` shared out by size, the largest remainders rounded up; nobody goes without."""
    exact = [total * size / sum(sizes) for size in sizes]
    shares = [int(share) for share in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda part: shares[part] - exact[part])
    for part in by_remainder[: total - sum(shares)]:
        shares[part] += 1
    return [max(1, share) for share in shares]
