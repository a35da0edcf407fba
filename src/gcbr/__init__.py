"""Chooses which nodes of a graph to label next, so that a few labels, balanced over the classes, go far."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gcbr.datasets import load_dataset as load_dataset
    from gcbr.errors import InputError as InputError
    from gcbr.formats import from_networkx as from_networkx
    from gcbr.formats import from_pyg as from_pyg
    from gcbr.formats import read_graph as read_graph
    from gcbr.graph import Dataset as Dataset
    from gcbr.graph import Graph as Graph
    from gcbr.graph import Labels as Labels
    from gcbr.learner import ActiveLearner as ActiveLearner
    from gcbr.learner import simulate as simulate
    from gcbr.simulation import run_simulation as run_simulation

# Loaded when first used: `gcbr --help` shall not wait for PyTorch.
_HOMES = {
    "ActiveLearner": "gcbr.learner",
    "Dataset": "gcbr.graph",
    "Graph": "gcbr.graph",
    "InputError": "gcbr.errors",
    "Labels": "gcbr.graph",
    "from_networkx": "gcbr.formats",
    "from_pyg": "gcbr.formats",
    "load_dataset": "gcbr.datasets",
    "read_graph": "gcbr.formats",
    "run_simulation": "gcbr.simulation",
    "simulate": "gcbr.learner",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gcbr' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
