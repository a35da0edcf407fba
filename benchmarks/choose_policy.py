"""Which of the trained policies ships: one that no other beats on Cora games that it was not trained on.

    python -m benchmarks.choose_policy --data DIR benchmarks/policies/gcbr-paper-*.safetensors

labels Cora and guises of it with every policy given, one per training seed and point of its training,
with the budget and the final epochs of the tables (20 labels a class), and prints Macro-F1 and imbalance
ratio, best first: the means over Cora and its guises, and those of Cora. No training had these seeds or these
guises. Runs are kept in a file of JSON lines, so that calling again after further training runs only what is
new.

Of the policies whose Macro-F1 is not clearly below the best one's, and whose labels are not clearly less
balanced than the most balanced one's of these, the one of the highest Macro-F1 ships. Clearly is beyond
chance, paired over the runs.

    python -m benchmarks.choose_policy --development --data DIR FILES

labels development graphs (`benchmarks.development`) with those whose Macro-F1 on Cora is not clearly below
the best one's, and chooses among them by the same rule on those graphs: Cora tells few policies apart. Either
way the choice is made before a policy meets a graph that a figure is reported for.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import NormalDist, fmean, variance
from typing import Any

import torch

from benchmarks.development import development_graphs, runs_on
from gcbr.checkpoints import fingerprint, load_policy
from gcbr.classifier import GCNClassifier, find_classifier
from gcbr.datasets import load_dataset
from gcbr.datasets.guises import guises
from gcbr.engine.memory import keep_freed_memory
from gcbr.graph import Dataset
from gcbr.simulation import run_simulation
from gcbr.statistics import CONFIDENCE, Estimate, estimate
from gcbr.strategies.learned import learned

FIRST_SEED = 1000  # apart from the seeds of every table
MACRO_F1, BALANCE = "macro_f1", "imbalance_ratio"

Scores = list[list[dict[str, Any]]]  # of one policy: the runs on each graph
GraphsOf = Callable[[str], Mapping[str, Dataset]]  # by name, under a feature rule
RunsOn = Callable[[str], int]  # of the graph of a name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("policies", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--runs", type=int, default=12, help="of Cora itself")
    parser.add_argument("--guises", type=int, default=8)
    parser.add_argument("--runs-of-guise", type=int, default=4)
    parser.add_argument("--development", action="store_true", help="choose among equals by other graphs")
    parser.add_argument("--classifier", default="usual", help="its form")
    parser.add_argument("--records", type=Path, default=Path("benchmarks/policies/scores.jsonl"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    paths = {f"{path.parent.name}/{path.stem}": path for path in options.policies}

    def scores_on(names: Iterable[str], graphs: GraphsOf, runs: RunsOn) -> dict[str, Scores]:
        return {
            name: scores_of(paths[name], graphs, runs, options.records, options.classifier) for name in names
        }

    on_cora = scores_on(
        paths,
        lambda rule: _cora_and_guises(rule, options.data, options.guises),
        lambda graph: options.runs if graph == "cora" else options.runs_of_guise,
    )
    print(f"mean Macro-F1 / imbalance ratio of Cora ({options.runs} runs) and {options.guises} guises of it")
    show(on_cora)
    if not options.development:
        print(f"ships: {choice(on_cora)}")
        return
    level = not_below(best_by(on_cora, MACRO_F1), on_cora, MACRO_F1)
    elsewhere = scores_on(level, lambda rule: _development_graphs(rule, options.data), runs_on)
    print("of those not clearly below the best, broad guises of Cora, and Photo")
    show(elsewhere)
    print(f"ships: {choice(elsewhere)}")


def show(candidates: Mapping[str, Scores]) -> None:
    """A line a policy, best first: the means over the graphs, and each graph's."""
    best = candidates[best_by(candidates, MACRO_F1)]
    for name in sorted(candidates, key=lambda name: -mean_over_graphs(candidates[name], MACRO_F1)):
        scores = candidates[name]
        below = difference(scores, best, MACRO_F1)
        by_graph = [f"{_percent(graph, MACRO_F1)}/{_mean(graph, BALANCE):.2f}" for graph in scores]
        print(
            f"{100 * mean_over_graphs(scores, MACRO_F1):6.2f} / {mean_over_graphs(scores, BALANCE):.2f}   "
            f"{name:32} less the best {100 * below.mean:+.2f} ± {100 * (below.margin or 0):.2f}   "
            f"{' '.join(by_graph)}"
        )


def choice(candidates: Mapping[str, Scores]) -> str:
    """The name of the policy that ships."""
    close = not_below(best_by(candidates, MACRO_F1), candidates, MACRO_F1)
    balanced = not_below(best_by(close, BALANCE), close, BALANCE)
    return best_by(balanced, MACRO_F1)


def best_by(candidates: Mapping[str, Scores], measure: str) -> str:
    return max(candidates, key=lambda name: mean_over_graphs(candidates[name], measure))


def not_below(best: str, candidates: Mapping[str, Scores], measure: str) -> dict[str, Scores]:
    """Those that are not clearly below the best one."""
    return {
        name: scores
        for name, scores in candidates.items()
        if name == best or not difference(scores, candidates[best], measure).is_clear
    }


def mean_over_graphs(scores: Scores, measure: str) -> float:
    """Each graph weighs the same, whatever its number of runs."""
    return fmean(_mean(graph, measure) for graph in scores)


def _mean(graph: Sequence[Mapping[str, Any]], measure: str) -> float:
    return fmean(run[measure] for run in graph)


def difference(one: Scores, other: Scores, measure: str) -> Estimate:
    """Of the means over graphs, paired over runs, with its 95% interval."""
    pairs = [
        [first[measure] - second[measure] for first, second in zip(*graphs, strict=True)]
        for graphs in zip(one, other, strict=True)
    ]
    mean = fmean(fmean(graph) for graph in pairs)
    error = math.sqrt(sum(variance(graph) / len(graph) for graph in pairs)) / len(pairs)
    return Estimate(mean, NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * error)


def _percent(graph: Sequence[Mapping[str, Any]], measure: str) -> str:
    found = estimate([100 * run[measure] for run in graph])
    return f"{found.mean:.1f}±{found.margin or 0:.1f}"


def scores_of(path: Path, graphs: GraphsOf, runs: RunsOn, records: Path, classifier: str = "usual") -> Scores:
    """So many runs of one policy on each graph, from the records where they are there already."""
    policy, card = load_policy(path)
    key = fingerprint(policy)
    taught = partial(GCNClassifier, config=find_classifier(classifier))
    # The first records are of Cora and do not say so; none says that the classifier was the usual one.
    done = {
        (line.get("graph", "cora"), line["seed"]): line
        for line in _lines(records)
        if (line["policy"], line.get("classifier", "usual")) == (key, classifier)
    }
    factory = learned(policy, card.columns, card.actions)
    scores = []
    for name, dataset in graphs(card.features).items():
        seeds = range(FIRST_SEED, FIRST_SEED + runs(name))
        for seed in seeds:
            if (name, seed) in done:
                continue
            run = run_simulation(
                dataset, path.stem, factory=factory, classifier=taught, seed=seed, curve_points=1
            )
            line: dict[str, Any] = {"policy": key, "graph": name, "seed": seed}
            if classifier != "usual":
                line["classifier"] = classifier
            for measure in (MACRO_F1, BALANCE):
                line[measure] = round(getattr(run.final, measure), 6)
            done[name, seed] = line
            with records.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
        scores.append([done[name, seed] for seed in seeds])
    return scores


@cache
def _cora_and_guises(features: str, data: Path | None, num_guises: int) -> dict[str, Dataset]:
    cora = load_dataset("cora", data_dir=data, features=features)
    others = guises(cora, num_guises, seed=FIRST_SEED)
    return {"cora": cora} | {f"guise {number}": guise for number, guise in enumerate(others, start=1)}


@cache
def _development_graphs(features: str, data: Path | None) -> dict[str, Dataset]:
    return development_graphs(features, data)


def _lines(records: Path) -> list[dict[str, Any]]:
    if not records.exists():
        return []
    return [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
