"""The norm of feature rows under the rule `default`: what random choice comes to on development graphs.

python -m benchmarks.feature_norm --data DIR
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import mean

import torch

from gcbr.datasets import load_dataset
from gcbr.datasets.features import rows_of_norm
from gcbr.engine.memory import keep_freed_memory
from gcbr.simulation import run_simulation

NORMS = (0.5, 1, 2, 4, 8, 16)
WORDS = "synthetic:nodes=6000,classes=12,skew=25,homophily=0.8,degree=9,features=1000,words=30,signal=0.5"
GRAPHS = {"cora": "cora", "photo": "photo", "digits": "digits", "synthetic": "synthetic", "words": WORDS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    print(f"Macro-F1 of random, mean of {options.runs} runs: at a quarter of the budget, half, the end")
    for title, name in GRAPHS.items():
        dataset = load_dataset(name, data_dir=options.data, features="default")
        for norm in NORMS:
            x = rows_of_norm(dataset.graph.x, norm)  # type: ignore[arg-type]
            scaled = replace(dataset, graph=replace(dataset.graph, x=x))
            runs = [
                run_simulation(scaled, "random", seed=seed, curve_points=4) for seed in range(options.runs)
            ]
            points = [[run.curve[0], run.curve[1], run.final] for run in runs]
            means = [100 * mean(scores[place].macro_f1 for scores in points) for place in range(3)]
            print(f"{title:10s} norm {norm:4g}  " + "  ".join(f"{value:5.1f}" for value in means), flush=True)


if __name__ == "__main__":
    main()
