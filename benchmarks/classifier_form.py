"""The two forms of the classifier: what random choice comes to with each on development graphs.

python -m benchmarks.classifier_form --data DIR
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import torch

from benchmarks.development import development_graphs
from gcbr.classifier import CLASSIFIERS, GCNClassifier
from gcbr.datasets import load_dataset
from gcbr.engine.memory import keep_freed_memory
from gcbr.graph import Dataset
from gcbr.simulation import run_simulation
from gcbr.statistics import Estimate, estimate

UNDER_DEFAULT = ("cora", "photo", "digits", "synthetic")
GUISE = "broad guise"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--runs", type=int, default=8, help="of each graph; a guise has one")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    print(f"Macro-F1 of random, {options.runs} runs (a guise 1): {', '.join(CLASSIFIERS)}, difference by run")
    for rule, graphs in (("paper", _under_paper(options.data)), ("default", _under_default(options.data))):
        for name, datasets in graphs.items():
            runs = options.runs if len(datasets) == 1 else 1
            scores = {form: _scores(datasets, form, runs) for form in CLASSIFIERS}
            gained = [after - before for before, after in zip(*scores.values(), strict=True)]
            each = [estimate(values) for values in (*scores.values(), gained)]
            print(f"{rule:8s} {name:12s} " + "  ".join(map(_text, each)), flush=True)


def _under_paper(data: Path | None) -> dict[str, list[Dataset]]:
    graphs = development_graphs("paper", data)
    guises = [graph for name, graph in graphs.items() if name.startswith(GUISE)]
    photos = {name: [graph] for name, graph in graphs.items() if not name.startswith(GUISE)}
    return {
        "cora": [load_dataset("cora", data_dir=data, features="paper")],
        f"{len(guises)} guises": guises,
    } | photos


def _under_default(data: Path | None) -> dict[str, list[Dataset]]:
    return {name: [load_dataset(name, data_dir=data, features="default")] for name in UNDER_DEFAULT}


def _scores(datasets: list[Dataset], form: str, runs: int) -> list[float]:
    taught = partial(GCNClassifier, config=CLASSIFIERS[form])
    return [
        100 * run_simulation(dataset, "random", classifier=taught, seed=seed, curve_points=1).final.macro_f1
        for dataset in datasets
        for seed in range(runs)
    ]


def _text(found: Estimate) -> str:
    return f"{found.mean:5.1f} ± {found.margin or 0:.1f}"


if __name__ == "__main__":
    main()
