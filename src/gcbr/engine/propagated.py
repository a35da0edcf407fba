"""The network on features that were propagated beforehand: relu((A_hat X) W1) in place of relu(A_hat (X W1)).

On a large graph the time goes into fetching neighbors' hidden rows from all over memory. A_hat X never
changes, so with it at hand the first layer is one product, read in order and in blocks; what is left to
propagate is a few classes wide. No hidden row is kept, and a training step reads only the labeled nodes'
neighbors, not theirs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gcbr.engine.gcn import BatchedGCN, GCNConfig, Prediction
from gcbr.engine.matrix import Csr, Dense
from gcbr.engine.receptive import ReceptiveField, marked, propagated_field

_BLOCK = 4096  # rows whose hidden layer is held at once: a megabyte, which a cache holds
_WORTH_GATHERING = 0.5  # of the nodes: beyond it, reading all in order is faster than reading some


class PropagatedGCN(BatchedGCN):
    """`BatchedGCN` over `propagated`, A_hat X: sums are taken in another order, so the last bits differ."""

    def __init__(
        self,
        propagation: Csr,
        propagated: Dense,
        num_classes: int,
        config: GCNConfig,
        rng: torch.Generator,
        episodes: int = 1,
    ) -> None:
        assert config.feature_dropout == 0, "features lose numbers before they are propagated, not after"
        super().__init__(propagation, propagated, num_classes, config, rng, episodes)
        self._propagated = propagated

    def _predict(self) -> Prediction:
        now = self.clone()  # the next step changes the weights, perhaps before the prediction is looked at
        return Prediction(now._predict_all, now._embeddings, now._predict_some)

    def _predict_all(self) -> Tensor:
        return self._probabilities(self._propagation, self._scores())

    def _predict_some(self, nodes: Tensor) -> Tensor:
        """Class probabilities of these nodes alone, [E, nodes, C], through their neighbors' hidden rows."""
        num_nodes = self._propagation.shape[0]
        rows = self._propagation.rows(nodes)
        near = marked(rows.indices, num_nodes)
        if len(near) > _WORTH_GATHERING * num_nodes:
            return self._probabilities(rows, self._scores())
        blocks = [self._scores_of(self._propagated.values[block]) for block in torch.split(near, _BLOCK)]
        return self._probabilities(rows.columns(near), torch.cat(blocks, dim=2))

    def _embeddings(self) -> Tensor:
        return _hidden(self._propagated.values, self.w1, self.b1)

    def _scores(self) -> Tensor:
        """H W2 of every node, [E, C, N]."""
        blocks = torch.split(self._propagated.values, _BLOCK)
        return torch.cat([self._scores_of(block) for block in blocks], dim=2)

    def _scores_of(self, propagated: Tensor) -> Tensor:
        return torch.bmm(self.w2.mT, _hidden(propagated, self.w1, self.b1).mT)

    def _field_behind(self, nodes: Tensor) -> ReceptiveField:
        if self._field is None or self._labeled is None or not torch.equal(self._labeled, nodes):
            self._field = propagated_field(self._propagation, self._propagated, nodes)
            self._labeled = nodes.clone()
        return self._field


def _hidden(propagated: Tensor, w1: Tensor, b1: Tensor) -> Tensor:
    """The first layer, [E, rows, H]."""
    return torch.baddbmm(b1.unsqueeze(1), propagated.expand(len(w1), -1, -1), w1).relu_()
