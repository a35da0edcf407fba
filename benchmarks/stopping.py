"""What stopping at the first advice would cost: Macro-F1 then, and after twice the paper's budget.

    python -m benchmarks.stopping --data DIR --seeds 1

labels development graphs to the end whatever the hint says.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from gcbr import metrics, seeding
from gcbr.datasets import load_dataset
from gcbr.graph import Dataset
from gcbr.learner import ActiveLearner
from gcbr.splits import draw_split

GRAPHS = {
    "digits": 180,
    "cora": 280,
    "photo": 320,
    "synthetic:nodes=6000,classes=12,skew=25,homophily=0.8,degree=9,features=1000,words=30,signal=0.5": 300,
    "synthetic:nodes=3000,classes=3,skew=2,homophily=0.75,degree=5,features=500,words=40,signal=0.35": 150,
}


def macro_f1(dataset: Dataset, learner: ActiveLearner) -> float:
    numbers = torch.tensor([dataset.class_names.index(name) for name in learner.class_names])
    predicted = numbers[learner.predict()[dataset.test].argmax(1)]
    return 100 * float(metrics.macro_f1(dataset.y[dataset.test], predicted, dataset.num_classes))


def first_advice(dataset: Dataset, strategy: str, budget: int, seed: int) -> tuple[int | None, float, float]:
    """Labels at the first advice to stop, if there is any; Macro-F1 then and at the end."""
    candidates = draw_split(dataset, seeding.generator(seed)).pool
    learner = ActiveLearner(dataset.graph, strategy, budget=budget, seed=seed, candidates=candidates)
    advised, then = None, float("nan")
    for done in range(1, budget + 1):
        (node,) = learner.ask()
        learner.tell(node, dataset.class_names[dataset.y[node]])
        if advised is None and learner.stop_hint().advice:
            advised, then = done, macro_f1(dataset, learner)
    return advised, then, macro_f1(dataset, learner)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=GRAPHS)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    losses = []
    for name in options.graphs:
        dataset = load_dataset(name, data_dir=options.data)
        for strategy in ("gcbr++", "random"):
            for seed in range(options.seeds):
                advised, then, end = first_advice(dataset, strategy, GRAPHS[name], seed)
                run = f"{name[:20]:20s} {strategy:8s} seed {seed}"
                if advised is None:
                    print(f"{run}: no advice in {GRAPHS[name]} labels; Macro-F1 {end:.1f}", flush=True)
                    continue
                losses.append(end - then)
                print(f"{run}: {then:.1f} at {advised} labels, {end:.1f} at {GRAPHS[name]}", flush=True)
    if losses:
        print(
            f"lost by stopping: mean {sum(losses) / len(losses):.1f}, most {max(losses):.1f}, n {len(losses)}"
        )


if __name__ == "__main__":
    main()
