"""Whether labels follow the edges: a graph network is of use only where neighbors are mostly alike."""

from __future__ import annotations

from typing import NamedTuple

import torch

from gcbr.graph import Graph, Labels

# Below this, edges cost the classifier more than they tell it, and above it they pay:
# `python -m benchmarks.homophily`, on synthetic graphs.
LOW = 0.2
MIN_EDGES = 20  # between labeled nodes: fewer say too little


class Homophily(NamedTuple):
    """Of the edges that join two labeled nodes."""

    edges: int
    alike: float  # the share that joins two nodes of one class
    adjusted: float  # 1: all of them; 0: as many as among nodes paired at random; below 0: fewer

    @property
    def is_low(self) -> bool:
        return self.edges >= MIN_EDGES and self.adjusted < LOW


def homophily(graph: Graph, labels: Labels) -> Homophily:
    """Newman's assortativity coefficient of the labels, over the edges between labeled nodes."""
    nodes = torch.tensor(labels.nodes, dtype=torch.long, device=graph.device)
    classes = torch.tensor(labels.classes, dtype=torch.long, device=graph.device)
    class_of_node = nodes.new_full((graph.num_nodes,), -1)
    class_of_node[nodes] = classes
    rows = graph.adjacency.rows(nodes)
    near, far = classes[rows.row_of_entry], class_of_node[rows.indices.long()]
    near, far = near[far >= 0], far[far >= 0]  # every edge from both of its ends
    if not len(near):
        return Homophily(0, 0.0, 0.0)
    alike = float((near == far).float().mean())
    shares = torch.bincount(near).float() / len(near)
    by_chance = float(shares.square().sum())
    adjusted = (alike - by_chance) / (1 - by_chance) if by_chance < 1 else 1.0
    return Homophily(len(near) // 2, alike, adjusted)
