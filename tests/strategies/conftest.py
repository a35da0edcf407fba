"""Views made by hand, for strategies on graphs small enough to draw."""

from collections.abc import Callable, Mapping, Sequence

import pytest
import torch
from torch import Tensor

from gcbr import seeding
from gcbr.engine.gcn import Prediction
from gcbr.graph import Graph, Labels
from gcbr.view import View

MakeView = Callable[..., View]


@pytest.fixture
def make_view() -> MakeView:
    return view_of


def view_of(
    graph: Graph,
    probabilities: Sequence[Sequence[float]] | None = None,
    *,
    embeddings: Tensor | None = None,
    labels: Mapping[int, int] | None = None,
    pending: tuple[int, ...] = (),
    candidates: Sequence[int] | None = None,
    budget: int = 10,
    seed: int = 0,
) -> View:
    """What a learner would show: by default nothing is predicted and every other node is a candidate."""
    given = Labels(tuple(labels or ()), tuple((labels or {}).values()))
    predicted = torch.tensor([[0.5, 0.5]] * graph.num_nodes if probabilities is None else probabilities)
    expected = predicted[list(pending)].sum(0)
    taken = {*given.nodes, *pending}
    free = [node for node in range(graph.num_nodes) if node not in taken]
    return View(
        graph=graph,
        labels=given,
        candidates=torch.tensor(free if candidates is None else candidates),
        prediction=Prediction(
            predicted, torch.zeros(graph.num_nodes, 1) if embeddings is None else embeddings
        ),
        counts=given.counts(predicted.shape[1]).float() + expected,
        pending=pending,
        budget=budget,
        rng=seeding.generator(seed),
    )
