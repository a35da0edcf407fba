"""The classifier as PyG's own examples write it: the yardstick of the engine's speed."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from gcbr.engine.gcn import BatchedGCN
from gcbr.graph import Graph


class PlainGCN(nn.Module):
    """Two `GCNConv` layers over dense features; `cached` normalizes the adjacency once."""

    def __init__(self, num_features: int, hidden: int, num_classes: int, dropout: float) -> None:
        super().__init__()
        self.conv1 = GCNConv(num_features, hidden, cached=True)
        self.conv2 = GCNConv(hidden, num_classes, cached=True)
        self.dropout = dropout

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        hidden = self.conv1(x, edge_index).relu()
        scores: Tensor = self.conv2(F.dropout(hidden, self.dropout, self.training), edge_index)
        return scores


class Reference:
    """The networks of a `BatchedGCN`, from the same weights, one after another."""

    def __init__(self, graph: Graph, network: BatchedGCN) -> None:
        config = network.config
        self._x = graph.x.to_dense()
        self._edges = torch.stack([graph.adjacency.row_of_entry, graph.adjacency.indices.long()])
        self._models = [
            PlainGCN(graph.num_features, config.hidden, network.num_classes, config.dropout)
            for _ in range(network.episodes)
        ]
        for episode, model in enumerate(self._models):
            model.conv1.lin.weight.data = network.w1[episode].T.contiguous()
            model.conv1.bias.data = network.b1[episode].clone()
            model.conv2.lin.weight.data = network.w2[episode].T.contiguous()
            model.conv2.bias.data = network.b2[episode].clone()
        self._optimizers = [
            torch.optim.Adam(model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
            for model in self._models
        ]

    def step(self, nodes: Tensor, classes: Tensor) -> None:
        """One full-batch step of every network on its labels, both [E, L]."""
        for model, optimizer, own_nodes, own_classes in zip(
            self._models, self._optimizers, nodes, classes, strict=True
        ):
            model.train()
            optimizer.zero_grad()
            loss = F.cross_entropy(model(self._x, self._edges)[own_nodes], own_classes)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    @torch.no_grad()
    def predict(self) -> Tensor:
        """Class probabilities of every node, [E, N, C]."""
        return torch.stack([model.eval()(self._x, self._edges).softmax(-1) for model in self._models])
