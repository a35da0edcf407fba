"""Calls go one way: the package's docstring says which, and imports keep to it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import gcbr.annotate

HERE = Path(gcbr.annotate.__file__).parent
ORDER = re.findall(r"^    (\w+)  ", gcbr.annotate.__doc__ or "", re.MULTILINE)
HTTP = {"fastapi", "starlette", "uvicorn", "jinja2"}


def imported(module: str) -> set[str]:
    tree = ast.parse((HERE / f"{module}.py").read_text())
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "gcbr.annotate":
            names |= {f"gcbr.annotate.{alias.name}" for alias in node.names}
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def test_the_docstring_names_every_module() -> None:
    assert sorted(ORDER) == sorted(path.stem for path in HERE.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("module", ORDER)
def test_a_module_imports_only_those_below_it(module: str) -> None:
    own = {
        name.removeprefix("gcbr.annotate.") for name in imported(module) if name.startswith("gcbr.annotate.")
    }
    assert own <= set(ORDER[ORDER.index(module) + 1 :])


@pytest.mark.parametrize("module", ORDER[3:])
def test_below_the_edge_nothing_knows_http(module: str) -> None:
    assert {name.partition(".")[0] for name in imported(module)}.isdisjoint(HTTP)
