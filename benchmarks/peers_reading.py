"""AGE and ANRMAB as their public code reads predictions: while the classifier trains, under dropout.

    python -m benchmarks.peers_reading --data DIR --dataset pubmed --strategies age

Here a strategy reads predictions with dropout off. Peers read those of the training pass, whose noise lets a
strategy that goes by them spread its choices; this shows how much of a difference in figures that makes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from gcbr.classifier import GCNClassifier
from gcbr.datasets import load_dataset
from gcbr.engine import dropout
from gcbr.engine.gcn import Prediction
from gcbr.engine.memory import keep_freed_memory
from gcbr.graph import Labels
from gcbr.simulation import run_simulation
from gcbr.statistics import estimate

RATE = 0.5
MEASURES = ("micro_f1", "macro_f1", "imbalance_ratio")


class NoisyClassifier(GCNClassifier):
    """Its predictions have dropout on, until the final epochs."""

    _is_final = False

    def update(self, labels: Labels, epochs: int = 1) -> None:
        self._is_final = self._is_final or epochs > 1
        super().update(labels, epochs)

    def predict(self) -> Prediction:
        exact = super().predict()
        if self._is_final:
            return exact
        network, hidden = self._network, exact.embeddings
        # A generator of its own, addressed by what was learned: asking twice gives the same.
        noise = torch.Generator().manual_seed(int(network.b2.double().sum() * 2**20) % 2**31)
        passed = hidden * dropout.kept(hidden.shape, RATE, noise) / (1 - RATE)
        logits = network._propagation.matmul(passed @ network.w2[0]) + network.b2[0]
        return Prediction(logits.softmax(-1), hidden)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--dataset", default="pubmed")
    parser.add_argument("--strategies", nargs="+", default=["age", "anrmab"])
    parser.add_argument("--features", default="paper")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    dataset = load_dataset(options.dataset, data_dir=options.data, features=options.features)
    for strategy in options.strategies:
        for name, classifier in (("dropout off", GCNClassifier), ("dropout on", NoisyClassifier)):
            finals = [
                run_simulation(dataset, strategy, classifier=classifier, seed=seed, curve_points=1).final
                for seed in range(options.runs)
            ]
            cells = [estimate([getattr(final, measure) for final in finals]) for measure in MEASURES]
            means = "  ".join(f"{100 * cell.mean:.2f} ± {100 * (cell.margin or 0):.2f}" for cell in cells)
            print(f"{options.dataset} {strategy:7} {name:12} {means}", flush=True)


if __name__ == "__main__":
    main()
