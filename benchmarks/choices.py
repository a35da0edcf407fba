"""How the choices that the paper leaves open were settled: train on Cora, score on development graphs.

    python -m benchmarks.choices --data DIR --centrality log1p --episodes 500

trains one policy on Cora with a choice changed and prints how it does, unchanged, on graphs that no
published figure is reported for: Cora itself at 20 labels a class and, with `--unseen`, Photo and synthetic
graphs, whose features are scaled under the rule `paper` as the paper scales those of its target graphs. Each
score is appended to a file of JSON lines.

    python -m benchmarks.choices --data DIR --unseen --policies benchmarks/policies/relative/*.safetensors

trains nothing and scores policies that `gcbr train` has written.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor

from benchmarks.choose_policy import FIRST_SEED
from gcbr import scores
from gcbr.checkpoints import load_policy
from gcbr.classifier import ClassifierFactory, GCNClassifier
from gcbr.datasets import load_dataset
from gcbr.datasets.features import centered_shares, rows_of_norm
from gcbr.datasets.guises import guises
from gcbr.engine.matrix import Csr, Dense
from gcbr.engine.memory import keep_freed_memory
from gcbr.environment import EnvConfig
from gcbr.graph import Dataset, Labels
from gcbr.policy import Policy
from gcbr.simulation import run_simulation
from gcbr.state import GraphFacts
from gcbr.strategies.learned import learned
from gcbr.trainer import TrainConfig, Trainer
from gcbr.training import env_config

CENTRALITY: dict[str, Callable[[Tensor], Tensor]] = {
    "raw": lambda ranks: ranks,
    "rank": scores.percentile,
    "max": lambda ranks: ranks / ranks.max(),
    "mean": lambda ranks: ranks * len(ranks),
    "log": lambda ranks: (ranks * len(ranks)).log(),
    "log1p": lambda ranks: (ranks * len(ranks)).log1p(),
}

# Many skewed classes; few classes and few labels; hubs and many features: what a policy may meet.
SYNTHETIC = {
    "many classes": "nodes=6000,classes=12,skew=25,homophily=0.8,degree=9,features=1000,words=30,signal=0.5",
    "few labels": "nodes=8000,classes=3,skew=2,homophily=0.75,degree=5,features=500,words=40,signal=0.35",
    "dense": "nodes=10000,classes=5,skew=6,homophily=0.85,degree=14,features=1500,words=35,signal=0.4",
}


def scale_centrality(name: str) -> None:
    """Let the policy read PageRank in another scale than the package's."""

    def centrality(facts: GraphFacts) -> Tensor:
        return CENTRALITY[name](facts.pagerank)

    replacement = cached_property(centrality)
    replacement.__set_name__(GraphFacts, "centrality")
    GraphFacts.centrality = replacement  # type: ignore[assignment, method-assign]


def unseen_graphs(features: str, data: Path | None) -> dict[str, Dataset]:
    """Under the rule `paper` with rows summing to 1, centered."""
    graphs = {"photo": load_dataset("photo", data_dir=data, features="default")}
    for name, options in SYNTHETIC.items():
        graphs[name] = load_dataset(f"synthetic:{options}", features="default")
    if features == "paper":
        for name, dataset in graphs.items():
            assert isinstance(dataset.graph.x, Csr | Dense)
            x = centered_shares(dataset.graph.x)
            graphs[name] = replace(dataset, graph=replace(dataset.graph, x=x, feature_rule="paper"))
    return graphs


def several_epochs(per_answer: int) -> ClassifierFactory:
    """The classifier that takes so many steps after each answer; in the end as many as any other."""

    class Eager(GCNClassifier):
        def update(self, labels: Labels, epochs: int = 1) -> None:
            super().update(labels, per_answer if epochs == 1 else epochs)

    return Eager


def score(
    policy: Policy, columns: tuple[str, ...], dataset: Dataset, runs: int, epochs: int
) -> dict[str, float]:
    factory, classifier = learned(policy, columns), several_epochs(epochs)
    finals = [
        run_simulation(
            dataset, "policy", factory=factory, classifier=classifier, seed=seed, curve_points=1
        ).final
        for seed in range(FIRST_SEED, FIRST_SEED + runs)
    ]
    return {
        name: mean(getattr(final, name) for final in finals)
        for name in ("micro_f1", "macro_f1", "imbalance_ratio")
    }


def score_files(policies: list[Path], graphs: dict[str, Dataset], runs: int, out: Path) -> None:
    """Score policies of the graphs' feature rule; the last column is the mean over the graphs."""
    for path in policies:
        policy, card = load_policy(path)
        by_graph = {
            name: score(policy, card.columns, graph, runs, epochs=1) for name, graph in graphs.items()
        }
        with out.open("a") as file:
            for name, figures in by_graph.items():
                line = {"graph": name, "episode": card.episodes, **figures, "runs": runs}
                file.write(json.dumps(line | {"policy": path.as_posix()}) + "\n")
        texts = [f"{name} {_short(figures)}" for name, figures in by_graph.items()]
        means = {name: mean(f[name] for f in by_graph.values()) for name in ("macro_f1", "imbalance_ratio")}
        print(f"{path.parent.name}/{path.stem}: {', '.join(texts)}, mean {_short(means)}", flush=True)


def _short(figures: dict[str, float]) -> str:
    return f"{100 * figures['macro_f1']:.1f}/{figures['imbalance_ratio']:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=Path("choices.jsonl"))
    parser.add_argument("--method", default="gcbr")
    parser.add_argument("--features", default="paper")
    parser.add_argument("--centrality", default="log1p", choices=CENTRALITY)
    parser.add_argument("--episodes", type=int, default=500)
    parser.add_argument("--score-every", type=int, default=250)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--critic-rate", type=float, default=1e-3)
    parser.add_argument("--standardize", action="store_true")
    parser.add_argument(
        "--terminal", type=int, default=0, help="epochs of training on before the last reward"
    )
    parser.add_argument("--epochs-per-query", type=int, default=1, help="in training and in use")
    parser.add_argument("--unseen", action="store_true", help="score on Photo and synthetic graphs as well")
    parser.add_argument("--source-norm", type=float, help="train with rows of Cora of this Euclidean norm")
    parser.add_argument(
        "--guises", type=int, default=0, help="train on so many guises of Cora besides, in turn"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--policies", type=Path, nargs="+", default=[], help="score these, and train nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    scale_centrality(options.centrality)
    graphs = {"cora": load_dataset("cora", data_dir=options.data, features=options.features)}
    if options.unseen:
        graphs |= unseen_graphs(options.features, options.data)
    if options.policies:
        score_files(options.policies, graphs, options.runs, options.out)
        return
    env = replace(
        env_config(options.method, EnvConfig()),
        final_epochs=options.terminal,
        epochs_per_query=options.epochs_per_query,
    )
    config = TrainConfig(
        episodes=options.episodes,
        actor_rate=options.rate,
        critic_rate=options.critic_rate,
        standardize=options.standardize,
        seed=options.seed,
    )

    def played(trainer: Trainer) -> None:
        if trainer.episode % options.score_every:
            return
        for name, dataset in graphs.items():
            figures = score(
                trainer.policy, tuple(env.columns), dataset, options.runs, options.epochs_per_query
            )
            line = {"graph": name, "episode": trainer.episode, **figures, "runs": options.runs}
            setting = {key: str(value) for key, value in vars(options).items() if key not in ("data", "out")}
            with options.out.open("a") as file:
                file.write(json.dumps(line | {"setting": setting, "train": asdict(config)}) + "\n")
            print(
                f"{trainer.episode:5d}  {name:13s} {100 * figures['micro_f1']:6.2f} "
                f"{100 * figures['macro_f1']:6.2f} {figures['imbalance_ratio']:5.2f}",
                flush=True,
            )

    source = graphs["cora"]
    if options.source_norm is not None:
        assert isinstance(source.graph.x, Csr | Dense)
        x = rows_of_norm(source.graph.x, options.source_norm)
        source = replace(source, graph=replace(source.graph, x=x))
    Trainer([source, *guises(source, options.guises)], env, config).train(played)


if __name__ == "__main__":
    main()
