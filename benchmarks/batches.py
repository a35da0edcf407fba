"""What asking for many nodes at once costs, against asking one by one.

    python -m benchmarks.batches --data DIR --graph co-cs --budget 300 --batch 15 --seeds 10

labels the same graph twice for each seed, with the same split and start, and prints what the batches change:
the mean of the paired differences with its 95% interval.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from gcbr import metrics, seeding
from gcbr.datasets import load_dataset
from gcbr.engine.memory import keep_freed_memory
from gcbr.graph import Dataset
from gcbr.learner import ActiveLearner, simulate
from gcbr.simulation import Score
from gcbr.splits import draw_split
from gcbr.statistics import MEASURES, estimate, number


def labeled_score(dataset: Dataset, strategy: str, budget: int, seed: int, batch: int) -> Score:
    """The test score after labeling `budget` nodes, `batch` at a time."""
    learner = ActiveLearner(
        dataset.graph,
        strategy,
        budget=budget,
        seed=seed,
        classes=dataset.class_names,
        candidates=draw_split(dataset, seeding.generator(seed)).pool,
    )
    simulate(learner, lambda node: dataset.class_names[dataset.y[node]], budget, batch=batch)
    truth, predicted = dataset.y[dataset.test], learner.predict()[dataset.test].argmax(1)
    return Score(
        labels=budget,
        micro_f1=float(metrics.micro_f1(truth, predicted)),
        macro_f1=float(metrics.macro_f1(truth, predicted, dataset.num_classes)),
        imbalance_ratio=float(metrics.imbalance_ratio(learner.counts)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--graph", default="co-cs")
    parser.add_argument("--strategy", default="gcbr++")
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--batch", type=int, default=15)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    dataset = load_dataset(options.graph, data_dir=options.data)
    pairs: list[tuple[Score, Score]] = []
    for seed in range(options.seeds):
        single, batched = (
            labeled_score(dataset, options.strategy, options.budget, seed, batch)
            for batch in (1, options.batch)
        )
        pairs.append((single, batched))
        shown = (f"{m.title} {m.of(single):.2f} {m.of(batched):.2f}" for m in MEASURES)
        print(f"seed {seed}, one by one and {options.batch} at a time: {'; '.join(shown)}", flush=True)
    print(f"{options.batch} at a time less one by one, mean over {len(pairs)} seeds and 95% interval:")
    for measure in MEASURES:
        difference = estimate([measure.of(batched) - measure.of(single) for single, batched in pairs])
        print(f"  {measure.title}: {number(difference, 2, signed=True)}")


if __name__ == "__main__":
    main()
