"""Examples run as they stand, and do what they say."""

import re
import subprocess
import sys
from pathlib import Path

from gcbr.cli.app import main

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_own_strategy_runs_as_it_stands():
    path = EXAMPLES / "own_strategy.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) < 30
    shown = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=100
    )
    assert shown.stderr == ""
    first, second = shown.stdout.splitlines()
    assert first.startswith("random: Macro-F1 ")
    assert second.startswith("own: Macro-F1 ")


def test_own_graph_runs_as_it_stands():
    path = EXAMPLES / "own_graph.py"
    shown = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=100
    )
    assert shown.stderr == ""
    labels, reason, result = shown.stdout.splitlines()
    assert "'casino'" in labels
    assert reason.startswith("asked late: shop-")
    right = re.fullmatch(r"right: (\d+) of 150", result)
    assert right is not None
    assert int(right[1]) > 120


def test_own_strategy_runs_from_the_command_line(capsys):
    strategy = f"{EXAMPLES / 'own_strategy.py'}:UnsureHub"
    graph = "synthetic:nodes=200,classes=3,features=16"
    assert main(["run", graph, "--strategy", strategy, "--budget", "6", "--final-epochs", "5"]) == 0
    assert "UnsureHub" in capsys.readouterr().out
