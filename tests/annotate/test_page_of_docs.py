"""What docs/annotation.md promises is there and runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "annotation.md").read_text()


def test_its_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], "annotation.md", "exec"), {})
    assert capsys.readouterr().out == "{0: 'even'}\n"


def test_its_pictures_are_there_and_small() -> None:
    named = set(re.findall(r"\]\((images/[^)]+)\)", PAGE))
    assert len(named) == 9
    for name in named:
        assert (ROOT / "docs" / name).exists(), name
    assert sum(file.stat().st_size for file in (ROOT / "docs" / "images").glob("annotation-*")) < 4_000_000


def test_it_names_every_option_and_key() -> None:
    from typer.main import get_group

    from gcbr.cli.app import app

    options = {
        name
        for parameter in get_group(app).commands["label"].params
        for name in parameter.opts
        if name[:2] == "--"
    }
    shared = {
        "--data",
        "--label-column",
        "--no-labels",
        "--help",
        "--strategy",
        "--seed",
        "--browser",
        "--classes",
    }
    assert [option for option in sorted(options - shared) if option not in PAGE] == []
