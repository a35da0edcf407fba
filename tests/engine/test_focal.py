"""The focal loss: numbers on paper, and its gradient against autograd."""

import math

import pytest
import torch
from torch import Tensor

from gcbr.engine.gcn import BatchedGCN, GCNConfig, cross_entropy
from gcbr.engine.matrix import Dense
from gcbr.graph import Graph
from gcbr.seeding import generator


def literal(logits: Tensor, classes: Tensor, focal: float) -> Tensor:
    """-(1 - p)^gamma log p, label by label; the mean of each network."""
    own = logits.softmax(-1).gather(-1, classes.unsqueeze(-1)).squeeze(-1)
    return (-((1 - own) ** focal) * own.log()).mean(-1)


def test_worked_by_hand():
    # Probabilities 1/4 and 3/4 of the right class: (3/4)^2 log 4 and (1/4)^2 log 4/3.
    logits = torch.tensor([[[0.0, math.log(3)], [math.log(3), 0.0]]])
    loss, _ = cross_entropy(logits, torch.tensor([[0, 0]]), focal=2.0)
    assert loss.tolist() == pytest.approx([(9 / 16 * math.log(4) + 1 / 16 * math.log(4 / 3)) / 2])


def test_without_gamma_it_is_cross_entropy_to_the_bit():
    logits = torch.randn(2, 6, 4, generator=generator(0))
    classes = torch.randint(4, (2, 6), generator=generator(1))
    for ours, theirs in zip(cross_entropy(logits, classes, 0.0), cross_entropy(logits, classes), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("focal", [0.5, 1.0, 2.0, 5.0])
def test_the_gradient_is_autograd_s(focal: float):
    logits = (3 * torch.randn(3, 7, 5, generator=generator(2), dtype=torch.float64)).requires_grad_()
    classes = torch.randint(5, (3, 7), generator=generator(3))
    loss, gradient = cross_entropy(logits.detach(), classes, focal)
    expected = literal(logits, classes, focal)
    torch.testing.assert_close(loss, expected.detach())
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.sum(), logits)[0])


@pytest.mark.parametrize("focal", [0.5, 2.0])
def test_a_label_the_network_is_certain_of_has_no_gradient_and_no_nan(focal: float):
    loss, gradient = cross_entropy(torch.tensor([[[200.0, 0.0]]]), torch.tensor([[0]]), focal)
    assert loss.tolist() == [0.0]
    assert gradient.tolist() == [[[0.0, 0.0]]]


def test_a_network_learns_by_the_loss_it_is_configured_with(barbell: Graph):
    x = torch.rand(6, 4, generator=generator(4))
    config = GCNConfig(hidden=5, dropout=0.0, focal=2.0)
    network = BatchedGCN(barbell.propagation, Dense(x), 3, config, generator(5))
    nodes, classes = torch.tensor([[0, 2, 5]]), torch.tensor([[0, 1, 2]])
    loss, gradients = network.gradients(nodes, classes)
    w1, b1, w2, b2 = weights = [parameter[0].clone().requires_grad_() for parameter in network.parameters]
    a_hat = barbell.propagation.to_dense()
    logits = a_hat @ torch.relu(a_hat @ x @ w1 + b1) @ w2 + b2
    expected = literal(logits[nodes], classes, 2.0)
    torch.testing.assert_close(loss, expected.detach())
    for ours, theirs in zip(gradients, torch.autograd.grad(expected.sum(), weights), strict=True):
        torch.testing.assert_close(ours[0], theirs, atol=1e-6, rtol=1e-4)
