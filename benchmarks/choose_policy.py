"""Which of the trained policies ships: the one that does best on Cora runs it was not trained on.

    python -m benchmarks.choose_policy --data DIR benchmarks/policies/gcbr-paper-*.safetensors

runs every file given, one per training seed and point of its training, with the budget and the final
epochs of the tables (20 labels a class), and prints the mean Macro-F1 and imbalance ratio, best first. Runs
are kept in a file of JSON lines, so that calling again after further training runs only what is new.
No other graph has a say, so the choice is made before a policy meets a graph that a figure is reported for.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from gcbr.checkpoints import fingerprint, load_policy
from gcbr.datasets import load_dataset
from gcbr.engine.memory import keep_freed_memory
from gcbr.simulation import run_simulation
from gcbr.statistics import estimate
from gcbr.strategies.learned import learned

FIRST_SEED = 1000  # apart from the seeds of every table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("policies", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--records", type=Path, default=Path("benchmarks/policies/scores.jsonl"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    rows = []
    for path in options.policies:
        scores = held_out_scores(path, options.runs, options.data, options.records)
        macro = estimate([100 * score["macro_f1"] for score in scores])
        rho = estimate([score["imbalance_ratio"] for score in scores])
        rows.append(
            (macro.mean, f"{path.stem:28} {macro.mean:6.2f} ± {macro.margin or 0:.2f}  rho {rho.mean:.2f}")
        )
    print(f"Cora, {options.runs} runs each, Macro-F1 with its 95% interval")
    print("\n".join(line for _, line in sorted(rows, reverse=True)))


def held_out_scores(path: Path, runs: int, data: Path | None, records: Path) -> list[dict[str, float]]:
    """The scores of one policy, from the records where they are there already."""
    policy, card = load_policy(path)
    key = fingerprint(policy)
    done = {line["seed"]: line for line in _lines(records) if line["policy"] == key}
    dataset = load_dataset("cora", data_dir=data, features=card.features)
    for seed in range(FIRST_SEED, FIRST_SEED + runs):
        if seed in done:
            continue
        final = run_simulation(
            dataset, path.stem, factory=learned(policy, card.columns, card.actions), seed=seed, curve_points=1
        ).final
        line = {"policy": key, "name": path.stem, "seed": seed, "macro_f1": final.macro_f1}
        done[seed] = line | {"micro_f1": final.micro_f1, "imbalance_ratio": final.imbalance_ratio}
        with records.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done[seed]) + "\n")
    return [done[seed] for seed in range(FIRST_SEED, FIRST_SEED + runs)]


def _lines(records: Path) -> list[dict[str, float]]:
    if not records.exists():
        return []
    return [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
