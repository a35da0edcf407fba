"""The least memory traffic of a training episode: every operand read once, every result written once.

    python -m benchmarks.speed.floor

Divided by what this machine copies in a second, it is a time that no order of the same arithmetic beats while
operands come from memory; what stays in a cache may be faster.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from benchmarks.speed.timing import cpu_seconds
from gcbr.datasets import load_dataset
from gcbr.engine.gcn import GCNConfig
from gcbr.environment import EnvConfig
from gcbr.graph import Dataset
from gcbr.state import GCBR_PLUS_COLUMNS
from gcbr.trainer import TrainConfig

_FLOAT = 4  # bytes
_ENTRY = 8  # bytes of a sparse entry: its column and its value
_COPIED = 1 << 28  # bytes, far more than a cache holds


def traffic(dataset: Dataset, env: EnvConfig, config: TrainConfig, network: GCNConfig) -> dict[str, int]:
    """Bytes of each piece of an episode."""
    nodes, classes = dataset.graph.num_nodes, dataset.num_classes
    x = _ENTRY * dataset.graph.x.num_stored
    edges = _ENTRY * dataset.graph.propagation.num_stored
    weights = _FLOAT * dataset.graph.num_features * network.hidden
    hidden = _FLOAT * nodes * network.hidden
    scores = _FLOAT * nodes * classes
    columns = _FLOAT * nodes * len(GCBR_PLUS_COLUMNS)
    encoded = _FLOAT * nodes * config.width
    games = env.episodes * env.budget
    updates = -(-env.budget // config.update_every)
    return {
        # X W1, A_hat of it, W2 of that, A_hat of it, softmax
        "prediction": games * (x + weights + hidden + edges + 2 * hidden + hidden + edges + 5 * scores),
        # back through A_hat and X to the gradient by W1; the hidden layer is the prediction's
        "training step: gradient": games * (edges + 2 * hidden + x + hidden + weights),
        # Adam reads weights, gradient and two moments, and writes all but the gradient
        "training step: Adam": games * 7 * weights,
        "state": games * (5 * scores + 2 * columns),
        # A_hat of the columns, a layer, A_hat of that, a score
        "acting": games * (2 * edges + 3 * columns + 5 * encoded),
        # actor and critic over every state of the episode, forward and back
        "learning": 2 * 2 * (games + updates * env.episodes) * (2 * columns + 6 * encoded)
        + updates * 4 * edges,
    }


def bandwidth() -> float:
    """Bytes a second that one thread reads and writes when it copies: the best of five."""
    source, target = torch.ones(_COPIED // _FLOAT), torch.zeros(_COPIED // _FLOAT)
    return 2 * _COPIED / min(cpu_seconds(lambda: target.copy_(source)) for _ in range(5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=None)
    torch.set_num_threads(1)
    dataset = load_dataset("cora", data_dir=parser.parse_args().data)
    pieces = traffic(dataset, EnvConfig(), TrainConfig(), GCNConfig())
    speed, total = bandwidth(), sum(pieces.values())
    for name, size in [*pieces.items(), ("in all", total)]:
        print(f"{name:24s} {size / 1e6:8.0f} MB {1000 * size / speed:8.0f} ms")
    print(f"copying: {speed / 1e9:.1f} GB a second")


if __name__ == "__main__":
    main()
