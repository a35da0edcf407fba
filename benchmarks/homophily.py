"""From which homophily on edges help: the classifier on a graph, and on its nodes without any edge.

    python -m benchmarks.homophily --seeds 3

draws graphs whose labels follow their edges more or less, labels 100 random nodes of each, and prints the
homophily of all nodes and of the labels, and the classifier's Macro-F1 with the edges and without them.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from statistics import mean

import torch

from gcbr import metrics, seeding
from gcbr.classifier import GCNClassifier
from gcbr.datasets import apply_rule
from gcbr.datasets.synthetic import SyntheticConfig, synthetic
from gcbr.engine.matrix import Csr
from gcbr.graph import Dataset, Graph, Labels
from gcbr.homophily import homophily

SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # of the edges inside a class
KINDS = {
    "few edges, weak features": SyntheticConfig(nodes=1500, degree=4, signal=0.6),
    "few edges, strong features": SyntheticConfig(nodes=1500, degree=4, signal=2.0),
    "many edges, weak features": SyntheticConfig(nodes=1500, degree=12, signal=0.6),
    "many edges, strong features": SyntheticConfig(nodes=1500, degree=12, signal=2.0),
}


def macro_f1(graph: Graph, dataset: Dataset, labels: Labels, seed: int) -> float:
    classifier = GCNClassifier(graph, dataset.num_classes, seeding.generator(seed, 1))
    classifier.update(labels, 200)
    predicted = classifier.predict().probabilities.argmax(1)
    is_rest = torch.ones(graph.num_nodes, dtype=torch.bool)
    is_rest[list(labels.nodes)] = False
    return 100 * float(metrics.macro_f1(dataset.y[is_rest], predicted[is_rest], dataset.num_classes))


def without_edges(graph: Graph) -> Graph:
    num_nodes, nothing = graph.num_nodes, torch.empty(0, dtype=torch.long)
    return replace(
        graph, adjacency=Csr.from_entries(nothing, nothing, torch.empty(0), (num_nodes, num_nodes))
    )


def measured(config: SyntheticConfig, seed: int, num_labels: int) -> tuple[float, float, float, float]:
    dataset = synthetic(config, seed=seed, name="synthetic")
    dataset = replace(dataset, graph=apply_rule("synthetic", dataset.graph, "default"))
    nodes = torch.randperm(config.nodes, generator=seeding.generator(seed))[:num_labels]
    labels = Labels(tuple(nodes.tolist()), tuple(dataset.y[nodes].tolist()))
    everyone = Labels(tuple(range(config.nodes)), tuple(dataset.y.tolist()))
    return (
        homophily(dataset.graph, everyone).adjusted,
        homophily(dataset.graph, labels).adjusted,
        macro_f1(dataset.graph, dataset, labels, seed),
        macro_f1(without_edges(dataset.graph), dataset, labels, seed),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--labels", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'graph':30s} of all  of labels  with edges  without")
    for kind, settings in KINDS.items():
        for share in SHARES:
            config = replace(settings, homophily=share)
            runs = [measured(config, seed, options.labels) for seed in range(options.seeds)]
            everyone, labeled, with_edges, without = (mean(column) for column in zip(*runs, strict=True))
            print(
                f"{kind:30s} {everyone:6.2f}  {labeled:9.2f}  {with_edges:10.1f}  {without:7.1f}", flush=True
            )


if __name__ == "__main__":
    main()
