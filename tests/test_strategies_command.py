"""`gcbr strategies` beside an installed package that offers some of its own."""

import json
from pathlib import Path

import pytest

from gcbr.cli.app import main
from gcbr.strategies import STRATEGIES

MODULE = '''
class First:
    """The candidate that comes first.

    A second paragraph is not for the list.
    """
    def __init__(self, graph, budget, rng): pass
    def select(self, view): return int(view.candidates[0])

class Silent:
    def __init__(self, graph, budget, rng): pass
    def select(self, view): return int(view.candidates[-1])
'''
OFFERS = """[gcbr.strategies]
first = offered_here:First
random = offered_here:First
silent = offered_here:Silent
vanished = offered_here:Gone
"""


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package as an installer leaves it: a module, and a folder that says what it offers."""
    (tmp_path / "offered_here.py").write_text(MODULE)
    about = tmp_path / "offered-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(OFFERS)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("_installed")
def test_offered_strategies_follow_those_of_the_package(capsys: pytest.CaptureFixture[str]):
    assert main(["strategies", "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)
    names = [line["name"] for line in lines]
    assert names == [*STRATEGIES, "first", "silent", "vanished"]
    offered = {line["name"]: line for line in lines[len(STRATEGIES) :]}
    assert offered["first"] == {
        "name": "first",
        "summary": "The candidate that comes first.",
        "paper": "",
        "policy": False,
    }
    assert offered["silent"]["summary"] == "offered by an installed package"
    assert "'vanished', offered as offered_here:Gone, cannot be loaded" in offered["vanished"]["summary"]


@pytest.mark.usefixtures("_installed")
def test_the_table_names_them_as_well(capsys: pytest.CaptureFixture[str]):
    assert main(["strategies"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown if line.startswith(("first", "silent"))] == ["first", "silent"]
    (needed,) = [line for line in shown if line.startswith("gcbr++ ")]
    assert needed.rstrip().endswith("needed")


@pytest.mark.usefixtures("_installed")
def test_a_name_that_is_nearly_an_offered_one_is_answered_with_it(capsys: pytest.CaptureFixture[str]):
    assert main(["run", "digits", "--strategy", "frist", "--budget", "3"]) == 2
    said = capsys.readouterr().err
    assert "unknown strategy 'frist'" in said
    assert "did you mean 'first'?" in said
