"""A strategy of one's own: nodes that the classifier is unsure of and many neighbors can learn from.

Run it as it stands, or with the command line: gcbr run digits --strategy examples/own_strategy.py:UnsureHub
"""

import torch

from gcbr import scores
from gcbr.datasets import load_dataset
from gcbr.graph import Graph
from gcbr.simulation import run_simulation
from gcbr.view import View


class UnsureHub:
    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        self._spread = scores.percentile(graph.degree.float())

    def select(self, view: View) -> int:
        worth = scores.entropy(view.prediction.probabilities) * self._spread
        return int(view.candidates[worth[view.candidates].argmax()])


if __name__ == "__main__":
    for name, factory in {"random": None, "own": UnsureHub}.items():
        result = run_simulation(load_dataset("digits"), name, budget=50, factory=factory)
        print(f"{name}: Macro-F1 {100 * result.final.macro_f1:.1f}")
