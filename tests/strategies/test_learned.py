"""A trained policy in use: always the highest-scored candidate."""

import pytest
import torch
from torch import Tensor, nn

from gcbr.actions import ActionSpace
from gcbr.classifier import Classifier, GCNClassifier
from gcbr.engine.gcn import GCNConfig, Prediction
from gcbr.engine.matrix import Csr, Dense
from gcbr.environment import EnvConfig, LabelingEnv
from gcbr.graph import Dataset, Graph, Labels
from gcbr.learner import ActiveLearner, simulate
from gcbr.policy import Policy
from gcbr.seeding import generator, seeded
from gcbr.state import GCBR_PLUS_COLUMNS
from gcbr.strategies.learned import Learned, learned
from gcbr.view import View

EDGELESS = Graph(
    "edgeless",
    Csr.from_entries(
        torch.empty(0, dtype=torch.long), torch.empty(0, dtype=torch.long), torch.empty(0), (6, 6)
    ),
    Dense(torch.eye(6)),
)
SURE_OF_A, SURE_OF_B, UNSURE = [0.9, 0.1], [0.1, 0.9], [0.5, 0.5]


class Opinion:
    """A classifier of a fixed opinion."""

    def __init__(self, probabilities: list[list[float]]) -> None:
        self._probabilities = torch.tensor(probabilities)
        self.num_classes = self._probabilities.shape[1]

    def update(self, labels: Labels, epochs: int = 1) -> None:
        pass

    def predict(self) -> Prediction:
        return Prediction(self._probabilities, torch.zeros(len(self._probabilities), 1))

    def grow(self, num_classes: int) -> None:
        raise NotImplementedError

    def clone(self) -> "Opinion":
        return self


def reads(weight: float) -> Policy:
    """Where there are no edges, its score is `weight` times the one column that it is shown."""
    policy = Policy(num_columns=1, width=1)
    for layer, scale in ((policy.actor.first, 1.0), (policy.actor.second, 1.0), (policy.actor.last, weight)):
        nn.init.constant_(layer.weight, scale)
        nn.init.zeros_(layer.bias)
    return policy


def some_policy(seed: int = 0) -> Policy:
    with seeded(generator(seed)):
        return Policy(len(GCBR_PLUS_COLUMNS))


def asking(column: str, weight: float, opinion: list[list[float]], budget: int = 6) -> ActiveLearner:
    return ActiveLearner(
        EDGELESS,
        learned(reads(weight), (column,)),
        budget=budget,
        classes=("a", "b"),
        classifier=lambda graph, num_classes, rng: Opinion(opinion),
    )


def small_gcn(graph: Graph, num_classes: int, rng: torch.Generator) -> Classifier:
    return GCNClassifier(graph, num_classes, rng, GCNConfig(hidden=8))


# --- One column, by hand --------------------------------------------------------------------------------


def test_asks_the_highest_scored_candidate():
    opinion = [SURE_OF_A, [0.7, 0.3], UNSURE, SURE_OF_B, [0.4, 0.6], SURE_OF_A]
    learner = asking("uncertainty", 1.0, opinion)
    learner.tell(0, "a")  # from the first answer on the classifier is believed
    assert learner.ask() == [2]
    learner.skip(2)
    assert learner.ask() == [4]
    learner.tell(4, "b")
    assert learner.ask() == [1]


def test_a_negative_weight_asks_the_lowest_column():
    opinion = [UNSURE, [0.7, 0.3], UNSURE, [0.99, 0.01], [0.4, 0.6], SURE_OF_A]
    learner = asking("uncertainty", -1.0, opinion)
    learner.tell(0, "a")
    assert learner.ask() == [3]


def test_asks_for_the_class_that_has_fewer_labels():
    learner = asking("class_diversity", 1.0, [SURE_OF_A] * 3 + [SURE_OF_B] * 3)
    learner.tell(0, "a")
    learner.tell(1, "a")
    assert learner.ask() == [3]
    learner.tell(3, "b")
    learner.tell(4, "b")
    learner.tell(5, "b")
    assert learner.ask() == [2]


def test_nodes_that_score_the_same_are_asked_in_their_order():
    learner = asking("uncertainty", 1.0, [UNSURE] * 6)
    assert learner.ask(6) == [0, 1, 2, 3, 4, 5]
    learner.skip(0)
    assert learner.ask(2) == [1, 2]
    assert simulate(learner, lambda node: "a", 3).nodes == (1, 2, 3)


# --- Fewer to choose among ------------------------------------------------------------------------------

# Least certain of those predicted in a is node 1, of those in b node 4; nodes 2 and 5 are surest.
SPREAD = [SURE_OF_A, [0.6, 0.4], [0.99, 0.01], SURE_OF_B, [0.3, 0.7], [0.01, 0.99]]


def test_allie_chooses_among_the_least_certain_of_each_class():
    def asked(actions: ActionSpace) -> list[int]:
        # The weight is negative: the surest are what the policy is after.
        factory = learned(reads(-1.0), ("uncertainty",), actions)
        learner = ActiveLearner(
            EDGELESS,
            factory,
            budget=6,
            classes=("a", "b"),
            classifier=lambda graph, num_classes, rng: Opinion(SPREAD),
        )
        learner.tell(0, "a")
        return learner.ask(3)

    assert asked(ActionSpace())[0] == 2
    # Of 1 and 4 the surer one, which is 4; then of 1 and 3; then of 1 and 5.
    assert asked(ActionSpace(one_per_class=True)) == [4, 3, 5]


def test_a_coarse_policy_asks_representatives_first(barbell: Graph):
    learner = ActiveLearner(barbell, learned(reads(1.0), ("degree",), ActionSpace(coarse=True)), budget=6)
    first, second, *others = learner.ask(6)
    assert {first, second} == {2, 4}
    assert sorted(others) == [0, 1, 3, 5]


# --- Batches --------------------------------------------------------------------------------------------


def test_a_batch_counts_each_chosen_node_as_labeled_with_its_likeliest_class():
    learner = asking("class_diversity", 1.0, [SURE_OF_A] * 3 + [SURE_OF_B] * 3)
    learner.tell(0, "a")
    learner.tell(5, "b")
    # One label each: all score 1, node 1 comes first. Then 2 to 1 expected labels: a node of b; then 2 to 2:
    # the first again.
    assert learner.ask(3) == [1, 3, 2]


def test_a_batch_is_chosen_as_in_training(skewed: Dataset):
    """Five nodes at once, from the predictions after four answers: in the environment and by the learner."""
    policy = some_policy()
    learner = ActiveLearner(
        skewed.graph,
        learned(policy, GCBR_PLUS_COLUMNS),
        budget=12,
        classes=skewed.class_names,
        classifier=small_gcn,
    )
    simulate(learner, lambda node: skewed.class_names[skewed.y[node]], 4)
    env = LabelingEnv(
        skewed,
        EnvConfig(budget=12, episodes=1, batch=5, columns=GCBR_PLUS_COLUMNS, classifier=GCNConfig(hidden=8)),
    )
    env.reset(generator(0))
    env.labeled, env._num_taught = torch.tensor([learner.labels.nodes]), 4
    env._probabilities = learner.prediction().probabilities.unsqueeze(0)
    state = env._state()
    for node in learner.ask(5):
        free = [n for n in range(200) if n not in env.labeled[0].tolist()]
        scores = policy.scores(env.propagation, state.features)[0].detach()
        assert float(scores[node]) == pytest.approx(float(scores[free].max()), abs=1e-5)
        env.labeled = torch.cat([env.labeled, torch.tensor([[node]])], dim=1)
        state = env._state()


# --- As in training -------------------------------------------------------------------------------------


def greedy(env: LabelingEnv, policy: Policy) -> Tensor:
    state, done = env.reset(generator(0)), False
    with torch.no_grad():
        while not done:
            scores = policy.scores(env.propagation, state.features)
            state, _, done = env.step(scores.masked_fill(~state.is_candidate, -torch.inf).argmax(1))
    return env.labeled


@pytest.mark.parametrize("actions", [ActionSpace(), ActionSpace(one_per_class=True, coarse=True)])
def test_chooses_what_the_same_policy_would_choose_in_training(actions: ActionSpace, skewed: Dataset):
    """The environment's games again, node by node, through a strategy that is shown the same predictions."""
    policy = some_policy()
    config = EnvConfig(
        budget=8, episodes=2, columns=GCBR_PLUS_COLUMNS, classifier=GCNConfig(hidden=8), actions=actions
    )
    chosen = greedy(LabelingEnv(skewed, config), policy)
    env = LabelingEnv(skewed, config)
    env.reset(generator(0))
    strategy = Learned(skewed.graph, policy, GCBR_PLUS_COLUMNS, actions)
    for step in range(8):
        for game in range(2):
            nodes = tuple(env.labeled[game].tolist())
            view = View(
                graph=skewed.graph,
                labels=Labels(nodes, tuple(skewed.y[list(nodes)].tolist())),
                candidates=env._is_candidate[game].nonzero().flatten(),
                prediction=Prediction(env._probabilities[game], torch.zeros(200, 1)),
                counts=env.counts[game],
                pending=(),
                budget=8,
                rng=generator(0),
            )
            assert strategy.select(view) == int(chosen[game, step])
        env.step(chosen[:, step])


def test_choosing_neither_learns_nor_draws(skewed: Dataset):
    policy = some_policy()
    assert all(parameter.requires_grad for parameter in policy.parameters())
    before = torch.get_rng_state()
    learner = ActiveLearner(skewed.graph, learned(policy, GCBR_PLUS_COLUMNS), budget=5, classifier=small_gcn)
    simulate(learner, lambda node: skewed.class_names[skewed.y[node]], 5)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(parameter.grad is None for parameter in policy.parameters())


@pytest.mark.parametrize("classes", [(), ("class 0",), ("class 0", "class 1", "class 2")])
def test_works_whatever_classes_are_known(skewed: Dataset, classes: tuple[str, ...]):
    learner = ActiveLearner(
        skewed.graph,
        learned(some_policy(), GCBR_PLUS_COLUMNS),
        budget=9,
        classes=classes,
        classifier=small_gcn,
    )
    labels = simulate(learner, lambda node: skewed.class_names[skewed.y[node]], 9)
    assert len(set(labels.nodes)) == 9
