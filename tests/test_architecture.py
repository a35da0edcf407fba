"""Imports point one way, and importing the package loads nothing that only one command needs."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gcbr

ROOT = Path(gcbr.__file__).parent

# A module imports only from rows above its own. Modules of one row may import each other.
ORDER = [
    "errors",
    "files",
    "versions",
    "figure_style",
    "seeding",
    "engine.memory",
    "engine.dropout",
    "engine.matrix",
    "engine.mapped",
    "engine.receptive",
    "engine.gcn",
    "engine.propagated",
    "graph",
    "metrics",
    "homophily",
    "splits",
    "datasets",
    "classifier",
    "quality",
    "classification",
    "scores",
    "divergence",
    "actions",
    "state",
    "rewards",
    "policy",
    "environment",
    "rollout",
    "a2c",
    "reinforce",
    "checkpoints",
    "committees",
    "policies",
    "trainer",
    "training",
    "view",
    "strategies",
    "explain",
    "stopping",
    "student",
    "saved",
    "learner",
    "simulation",
    "suggestion",
    "statistics",
    "formats",
    "executor",
    "benchmark",
    "annotate",
    "labelstudio",
    "report",
    "cli",
]

# Which rows must never be imported from which, whatever the order says.
APART = {
    "strategies": {"datasets", "environment", "learner"},
    "learner": {"datasets", "environment", "rollout", "a2c", "reinforce", "training"},
    "scores": {"classifier", "datasets", "engine.gcn"},
    "state": {"classifier", "datasets", "engine.gcn"},
    "rewards": {"classifier", "datasets", "engine.gcn"},
    "benchmark": {"annotate"},
    "annotate": {"benchmark"},
}

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}


def row_of(module: str) -> str | None:
    """The row of the table that `module` belongs to: its own, or that of the package it is in."""
    parts = module.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((name for name in names if name in ORDER), None)


def absolute(node: ast.ImportFrom, module: str) -> str:
    """The full name that `from ... import` stands for inside `module`."""
    if node.level == 0:
        return node.module or ""
    package = f"gcbr.{module}".split(".")
    is_package = MODULES[module].name == "__init__.py"
    base = package[: len(package) - node.level + is_package]
    return ".".join([*base, node.module] if node.module else base)


def imports(module: str, source: str) -> Iterator[str]:
    """Names of our own that a file imports, at its top or inside a function, without the `gcbr.`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # What is imported from a package may be a module of it.
            names = [f"{absolute(node, module)}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.removeprefix("gcbr.") for name in names if name.startswith("gcbr."))


def wrong_imports(module: str, source: str) -> list[str]:
    own = row_of(module)
    wrong = []
    for name in imports(module, source):
        row = row_of(name)
        if row is None:
            if not name.startswith("__"):  # gcbr.__version__ and its like
                wrong.append(f"{module} imports {name}, which stands in no row")
        elif own is not None and (ORDER.index(row) > ORDER.index(own) or row in APART.get(own, ())):
            wrong.append(f"{module} imports {name}")
    return wrong


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str):
    assert wrong_imports(module, MODULES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_its_row(module: str):
    facade = module in ("__init__", "__main__", "engine")
    assert facade or row_of(module) is not None


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("graph", "from gcbr.learner import ActiveLearner"),
        ("graph", "def late():\n    import gcbr.cli.app"),
        ("graph", "from gcbr import learner"),
        ("graph", "if TYPE_CHECKING:\n    from .view import View"),
        ("engine.matrix", "from .gcn import BatchedGCN"),
        ("engine.matrix", "from ..graph import Graph"),
        ("strategies.random", "from ..datasets import load_dataset"),
        ("strategies", "from gcbr.learner import ActiveLearner"),
        ("learner", "from gcbr.a2c import loss"),
        ("graph", "from gcbr import ActiveLearner"),
    ],
)
def test_an_import_against_the_order_is_seen(module: str, source: str):
    assert len(wrong_imports(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("learner", "from gcbr import __version__, seeding"),
        ("learner", "import torch\nfrom gcbr.strategies.random import Random"),
        ("strategies", "from gcbr.strategies.random import Random\nfrom .random import Random"),
        ("engine.gcn", "from .matrix import Csr"),
    ],
)
def test_an_import_along_the_order_is_not(module: str, source: str):
    assert wrong_imports(module, source) == []


def test_importing_the_package_loads_nothing_that_only_one_command_needs():
    heavy = ("fastapi", "matplotlib", "torch_geometric", "sklearn")
    code = f"import sys, gcbr; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
