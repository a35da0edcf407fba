import pytest
import torch

from gcbr.graph import Graph
from gcbr.strategies.age import AGE, centrality_weight
from gcbr.strategies.criteria import Criteria

# On the star. Two clusters: 4 alone, and the others around 0.89, which 2 is nearest to and 3 farthest from.
PROBABILITIES = [[1.0, 0.0], [0.96, 0.04], [0.9, 0.1], [0.7, 0.3], [0.0, 1.0]]


@pytest.mark.parametrize("seed", range(5))
def test_each_criterion_is_a_percentile_among_all_nodes(star: Graph, make_view, seed: int):
    view = make_view(star, PROBABILITIES, candidates=[1, 2], seed=seed)
    entropy, density, centrality = Criteria(star)(view).tolist()
    assert entropy == pytest.approx([0.2, 0.5, 0.7, 0.9, 0.2])  # 0 and 4 are both certain
    assert density == pytest.approx([0.3, 0.5, 0.7, 0.1, 0.9])
    assert centrality == pytest.approx([0.9, 0.4, 0.4, 0.4, 0.4])  # four leaves alike


def test_the_first_queries_go_by_centrality():
    # Beta(1, 0.005): 1 - drawn^200
    assert centrality_weight(0, 0.9) == pytest.approx(1)
    assert centrality_weight(0, 0.999) == pytest.approx(0.181351, abs=1e-5)


def test_the_weight_of_centrality_falls_with_the_labels():
    # base 1/2, one label: 1 - 0.25^(1 / 0.505)
    assert centrality_weight(1, 0.25, base=0.5) == pytest.approx(0.935760, abs=1e-5)
    # in the end: 1 - 0.25^(1 / 1.005)
    assert centrality_weight(1000, 0.25, base=0.5) == pytest.approx(0.748270, abs=1e-5)


def test_the_weight_is_drawn_from_the_papers_beta_distribution():
    # after 10 labels: Beta(1, 1.005 - 0.598737), whose mean is 1 / 1.406263
    drawn = [centrality_weight(10, (step + 0.5) / 1000) for step in range(1000)]
    assert sum(drawn) / 1000 == pytest.approx(0.711105, abs=1e-3)


def test_the_first_choice_is_the_most_central_node(star: Graph, make_view):
    view = make_view(star, PROBABILITIES)
    assert AGE(star, 5, torch.Generator()).select(view) == 0


def test_late_choices_go_by_the_model_half_of_the_time(star: Graph, make_view):
    # The center leads while 0.25 + 0.65 w > 0.7 - 0.3 w, or w > 0.4737: 0.5263^1.005 = 0.525 of the time.
    # Otherwise node 2 does, the best in entropy and density together.
    strategy = AGE(star, 5, torch.Generator(), base=0.0)
    chosen = [
        strategy.select(make_view(star, PROBABILITIES, labels={1: 0, 3: 0}, seed=seed)) for seed in range(200)
    ]
    assert set(chosen) == {0, 2}
    assert chosen.count(0) / 200 == pytest.approx(0.525, abs=0.1)


def test_a_pending_node_counts_as_a_label_in_the_schedule(star: Graph, make_view):
    strategy = AGE(star, 5, torch.Generator(), base=0.0)

    def chosen(**given: object) -> list[int]:
        views = [make_view(star, PROBABILITIES, candidates=[0, 2], seed=seed, **given) for seed in range(20)]
        return [strategy.select(view) for view in views]

    assert chosen(pending=(1,)) == chosen(labels={1: 0}) != chosen()
