"""What README promises is there and runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from gcbr.cli.app import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def commands() -> list[str]:
    return list(typer.main.get_group(app).commands)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_python_in_the_readme_runs(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("command", commands())
def test_the_readme_names_every_command(command: str) -> None:
    assert f"`gcbr {command}" in README


@pytest.mark.parametrize("command", commands())
def test_every_command_says_what_it_does(command: str) -> None:
    assert typer.main.get_group(app).commands[command].help


def test_the_method_page_names_functions_and_tests_that_exist() -> None:
    page = (ROOT / "docs" / "method.md").read_text()
    for test in set(re.findall(r"`(tests/\w+\.py)`", page)):
        assert (ROOT / test).exists(), test
    named = re.findall(r"`(metrics|scores|state|rewards|policy|a2c)\.(\w+)", page)
    assert len(named) > 10
    for module, name in named:
        source = (ROOT / "src" / "gcbr" / f"{module}.py").read_text()
        assert re.search(rf"^\s*(def|class) {name}\b", source, re.MULTILINE), f"{module}.{name}"
