"""One strategy on one graph in a process of its own, so that its peak memory is its own.

    python -m benchmarks.speed.cell GRAPH STRATEGY QUERIES [SAMPLE]

prints one JSON object. A query is what stands between two questions to a person: the classifier learns from
the last answer and predicts, and the strategy chooses the next node.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.speed.timing import cpu_seconds

WARM_UP = 5  # queries before the measured ones: no class may be missing


def run_cell(graph: str, strategy: str, queries: int, sample: int | None = None) -> dict[str, float]:
    """Measure in a fresh process with one thread."""
    command = [sys.executable, "-m", "benchmarks.speed.cell", graph, strategy, str(queries)]
    command += [] if sample is None else [str(sample)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def measure(graph: str, strategy: str, queries: int, sample: int | None) -> dict[str, float]:
    """Set-up, CPU-seconds a query (mean and median), peak memory and what of it is not a file's, in MB."""
    import torch

    from gcbr.engine.memory import keep_freed_memory
    from gcbr.learner import ActiveLearner

    torch.set_num_threads(1)
    keep_freed_memory()
    opened, answers, classes = _graph(graph)
    made: list[tuple[ActiveLearner, int]] = []  # the learner, and the node it asks for now

    def set_up() -> None:
        budget = WARM_UP + queries + 1
        learner = ActiveLearner(opened, strategy, budget=budget, classes=classes, sample=sample)
        made.append((learner, learner.ask()[0]))

    def query() -> None:
        learner, node = made.pop()
        learner.tell(node, answers[node])
        made.append((learner, learner.ask()[0]))

    first = cpu_seconds(set_up)
    for _ in range(WARM_UP):
        query()
    seconds = [cpu_seconds(query) for _ in range(queries)]
    return {
        "set_up": max(0.0, first - median(seconds)),
        "query": mean(seconds),
        "median_query": median(seconds),
        "peak_mb": _megabytes("VmHWM"),
        "own_mb": _megabytes("RssAnon"),  # what is no file's: the system cannot drop it and read it again
        "nodes": opened.num_nodes,
        "edges": opened.num_edges,
    }


def _graph(name: str) -> tuple[Any, Mapping[int, str], tuple[str, ...]]:
    if Path(name).exists():
        from gcbr.formats import open_graph

        opened = open_graph(name)
        return opened.graph, opened.labels, tuple(sorted(set(opened.labels.values())))
    from gcbr.datasets import load_dataset

    dataset = load_dataset(name)
    answers = {node: dataset.class_names[cls] for node, cls in enumerate(dataset.y.tolist())}
    return dataset.graph, answers, dataset.class_names


def _megabytes(name: str) -> float:
    """A size of this process. Not `ru_maxrss`: a child begins with the peak of the one that started it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(lines[name].split()[0]) / 1024


if __name__ == "__main__":
    graph, strategy, queries, *sample = sys.argv[1:]
    print(json.dumps(measure(graph, strategy, int(queries), int(sample[0]) if sample else None)))
