"""The tutorial, block after block, as a newcomer would run it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gcbr.cli.app import main

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_every_block_runs_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, block in BLOCKS:
        if language == "python":
            exec(compile(block, PAGE.name, "exec"), names)
            continue
        assert language == "sh"
        for line in block.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "gcbr"
            assert main(arguments) == 0, capsys.readouterr().err
    shown = capsys.readouterr().out
    assert "to label next in scans" in shown
    assert "Micro-F1" in shown
    assert re.search(r"\d\d% of 710 nodes are right, from 80 labels", shown)


def test_there_are_blocks_of_both_kinds():
    languages = [language for language, _ in BLOCKS]
    assert languages.count("sh") >= 5
    assert languages.count("python") >= 6
