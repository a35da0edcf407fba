"""How a policy does on graphs that it was not trained on: guises of Cora, Amazon Photo and guises of that.

    python -m benchmarks.transfer --data DIR FILES

labels each of four families of graphs with every policy given, unchanged, at 20 labels a class, and prints
the mean Macro-F1 and imbalance ratio of each family and of all four, which weigh the same. Photo has eight
times Cora's degree and hubs between its classes; its broad guises have 3 to 16 classes. None of these graphs
has a figure in a table of the paper, and no training had these guises or seeds. `random` and other strategies
are named like files, with --features.

What counts as better is what the reward of a game counts, half and half: performance and balance.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean

import torch

from benchmarks.development import PHOTO_NORMS, SEED, scaled
from gcbr.checkpoints import fingerprint, load_policy
from gcbr.datasets import load_dataset
from gcbr.datasets.guises import guises
from gcbr.engine.memory import keep_freed_memory
from gcbr.graph import Dataset
from gcbr.simulation import run_simulation
from gcbr.strategies.learned import learned
from gcbr.view import StrategyFactory

RECORDS = Path("benchmarks/policies/transfer.jsonl")
ALPHA = 0.5  # the weight of Macro-F1 against the imbalance ratio


@dataclass(frozen=True)
class Family:
    graphs: Sequence[Dataset]
    runs: int  # of each graph


@dataclass(frozen=True)
class Line:
    """One policy, or a strategy by name, under one feature rule."""

    name: str
    policy: str  # fingerprint; empty for a strategy
    features: str
    families: Mapping[str, tuple[float, float]]  # Macro-F1 in percent, and imbalance ratio

    @property
    def means(self) -> tuple[float, float]:
        macro_f1, balance = zip(*self.families.values(), strict=True)
        return fmean(macro_f1), fmean(balance)

    @property
    def score(self) -> float:
        macro_f1, balance = self.means
        return ALPHA * macro_f1 / 100 + (1 - ALPHA) * balance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("policies", nargs="+", metavar="FILE")
    parser.add_argument("--features", default="default", help="the rule for strategies that are no file")
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--records", type=Path, default=RECORDS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    lines = [measured(name, options.features, options.data, options.records) for name in options.policies]
    for line in sorted(lines, key=lambda line: -line.score):
        by_family = "  ".join(f"{name} {f1:.1f}/{rho:.2f}" for name, (f1, rho) in line.families.items())
        macro_f1, balance = line.means
        print(f"{line.score:.3f}  {macro_f1:.1f}/{balance:.2f}  {line.name:45} {line.features:8} {by_family}")


def measured(name: str, rule: str, data: Path | None, records: Path) -> Line:
    """From the records if it is there, else measured and recorded."""
    factory: StrategyFactory | None = None
    key = ""
    if name.endswith(".safetensors"):
        policy, card = load_policy(Path(name))
        factory, key, rule = learned(policy, card.columns, card.actions), fingerprint(policy), card.features
    for line in recorded(records):
        if (line.policy, line.features) == (key, rule) and (key or line.name == name):
            return replace(line, name=name)
    found = {family: _measured(members, name, factory) for family, members in _families(rule, data).items()}
    line = Line(name, key, rule, found)
    with records.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(line)) + "\n")
    return line


def recorded(records: Path) -> list[Line]:
    if not records.exists():
        return []
    return [Line(**json.loads(text)) for text in records.read_text(encoding="utf-8").splitlines()]


def _measured(family: Family, name: str, factory: StrategyFactory | None) -> tuple[float, float]:
    finals = [
        [
            run_simulation(graph, name, factory=factory, seed=SEED + run, curve_points=1).final
            for run in range(family.runs)
        ]
        for graph in family.graphs
    ]
    macro_f1 = fmean(fmean(100 * final.macro_f1 for final in runs) for runs in finals)
    balance = fmean(fmean(final.imbalance_ratio for final in runs) for runs in finals)
    return round(macro_f1, 2), round(balance, 3)


@cache
def _families(rule: str, data: Path | None) -> dict[str, Family]:
    cora = load_dataset("cora", data_dir=data, features=rule)
    # Guises are made of raw features or of any that can be scaled anew; Photo has no rule `paper` of its own.
    photo = load_dataset("photo", data_dir=data, features="default")
    photo = replace(photo, graph=replace(photo.graph, feature_rule=rule))
    return {
        "cora": Family([cora], 4),
        "guises": Family(guises(cora, 24, SEED, broad=True), 1),
        "photo": Family([scaled(photo, rule, norm) for norm in PHOTO_NORMS[rule].values()], 2),
        "photo guises": Family(guises(photo, 12, SEED, broad=True), 1),
    }


if __name__ == "__main__":
    main()
