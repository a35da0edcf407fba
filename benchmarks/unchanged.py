"""Whether a change to the engine changed results: the same seeds before and after, on Cora and CiteSeer.

    git worktree add ../before COMMIT
    PYTHONPATH=../before/src python -m benchmarks.unchanged --out before.json
    python -m benchmarks.unchanged --out after.json --beside before.json

prints, for each graph and strategy, in how many runs the same nodes were chosen in the same order, and each
mean beside the 95% interval of the one before. Where only the order of a sum or of draws changed, choices
part sooner or later, and the means should stay: of such independent means one in six or so lies outside.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from gcbr.datasets import load_dataset
from gcbr.engine.memory import keep_freed_memory
from gcbr.simulation import run_simulation
from gcbr.statistics import estimate

MEASURES = ("micro_f1", "macro_f1", "imbalance_ratio")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--beside", type=Path, default=None)
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer"])
    parser.add_argument("--strategies", nargs="+", default=["random", "entropy", "age"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    runs = {}
    for name in options.datasets:
        dataset = load_dataset(name, data_dir=options.data)
        for strategy in options.strategies:
            cell = []
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                result = run_simulation(dataset, strategy, seed=seed, curve_points=1)
                measured = {measure: getattr(result.final, measure) for measure in MEASURES}
                cell.append({"seed": seed, "nodes": list(result.nodes), **measured})
            runs[f"{name} {strategy}"] = cell
    options.out.write_text(json.dumps(runs), encoding="utf-8")
    if options.beside is not None:
        before = json.loads(options.beside.read_text(encoding="utf-8"))
        for name, after in runs.items():
            print(f"{name:18} {_compared(before[name], after)}")


def _compared(before: list[dict[str, float]], after: list[dict[str, float]]) -> str:
    pairs = zip(before, after, strict=True)
    parts = [f"same choices in {sum(old['nodes'] == new['nodes'] for old, new in pairs)} of {len(after)}"]
    for measure in MEASURES:
        old = estimate([run[measure] for run in before])
        new = estimate([run[measure] for run in after])
        margin = old.margin or 0.0
        verdict = "inside" if abs(new.mean - old.mean) <= margin else "OUTSIDE"
        parts.append(f"{measure} {old.mean:.4f} ± {margin:.4f}, now {new.mean:.4f} {verdict}")
    return "; ".join(parts)


if __name__ == "__main__":
    main()
