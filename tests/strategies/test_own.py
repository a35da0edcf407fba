"""Strategies by name, in a user's file, and from installed packages."""

from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from gcbr.errors import InputError
from gcbr.graph import Graph
from gcbr.learner import ActiveLearner, simulate
from gcbr.strategies import STRATEGIES, find_strategy, own
from gcbr.strategies.random import Random

LOWEST = """
from dataclasses import dataclass

@dataclass
class Lowest:
    graph: object
    budget: int
    rng: object

    def select(self, view):
        return int(view.candidates[0])
"""

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> str:
        (tmp_path / "mine.py").write_text(text, encoding="utf-8")
        return str(tmp_path / "mine.py")

    return write


def test_a_class_in_a_file_is_a_strategy(write: Write, barbell: Graph):
    learner = ActiveLearner(barbell, f"{write(LOWEST)}:Lowest", budget=3)
    assert simulate(learner, lambda node: "any", 3).nodes == (0, 1, 2)


def test_the_file_may_be_named_from_the_working_folder(write: Write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(Path(write(LOWEST)).parent)
    assert find_strategy("mine.py:Lowest") is find_strategy("./mine.py:Lowest")


def test_a_class_in_a_file_can_be_balanced(write: Write, barbell: Graph):
    learner = ActiveLearner(barbell, f"balanced({write(LOWEST)}:Lowest)", budget=3)
    assert len(simulate(learner, lambda node: "any", 3)) == 3


def test_a_file_saved_again_is_read_again(write: Write):
    before = find_strategy(f"{write(LOWEST)}:Lowest")
    place = f"{write(LOWEST + 'changed = True')}:Lowest"
    assert find_strategy(place) is not before


def test_a_function_may_make_the_strategy(write: Write, barbell: Graph):
    text = LOWEST + "\ndef lowest(graph, budget, rng):\n    return Lowest(graph, budget, rng)\n"
    assert ActiveLearner(barbell, f"{write(text)}:lowest", budget=3).ask() == [0]


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        (LOWEST, "Lowst", "mine.py' has no class Lowst; its strategies: Lowest"),
        ("x = 1", "Lowest", "mine.py' has no class Lowest; it has no class with a select method"),
        ("Lowest = 1", "Lowest", "is no class; a strategy is a class with a method select"),
        ("class Lowest: pass", "Lowest", r"mine.py:Lowest has no method select\(view\)"),
        (
            "class Lowest:\n    def select(self, view): ...",
            "Lowest",
            r"mine.py:Lowest cannot be made from \(graph, budget, rng\)",
        ),
        ("a = 1\nb = a / 0", "Lowest", "'mine.py', line 2, fails: ZeroDivisionError: division by zero"),
        ("class Lowest\n    pass", "Lowest", "'mine.py' fails: SyntaxError: .*line 1"),
        ("import nowhere_to_be_found", "Lowest", "line 1, fails: ModuleNotFoundError: .*nowhere_to_be_found"),
    ],
)
def test_a_mistake_in_the_file_is_told(write: Write, text: str, name: str, said: str):
    with pytest.raises(InputError, match=said):
        find_strategy(f"{write(text)}:{name}")


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(
        InputError, match=r"there is no file 'nowhere/mine.py' to take the strategy Mine from"
    ):
        find_strategy("nowhere/mine.py:Mine")


@pytest.mark.parametrize("name", ["mine.py", "mine.py:"])
def test_a_file_without_a_class_is_told(name: str):
    with pytest.raises(
        InputError, match=r"'mine.py' is a file; name the class in it as well: mine.py:MyStrategy"
    ):
        find_strategy(name)


@pytest.fixture
def offers(monkeypatch: pytest.MonkeyPatch) -> None:
    points = (
        EntryPoint("theirs", "gcbr.strategies.random:Random", own.GROUP),
        EntryPoint("random", "gcbr.strategies.age:AGE", own.GROUP),
        EntryPoint("moved", "gcbr.strategies.random:Gone", own.GROUP),
        EntryPoint("gone", "nowhere_to_be_found:Gone", own.GROUP),
        EntryPoint("wrong", "gcbr.strategies.own:GROUP", own.GROUP),
    )
    monkeypatch.setattr(own, "entry_points", lambda group: points if group == own.GROUP else ())


@pytest.mark.usefixtures("offers")
def test_an_installed_package_may_offer_a_strategy(barbell: Graph):
    assert find_strategy("theirs") is Random
    assert len(ActiveLearner(barbell, "balanced(theirs)", budget=3).ask()) == 1


@pytest.mark.usefixtures("offers")
def test_no_package_replaces_a_strategy_of_ours():
    assert find_strategy("random") is Random


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("moved", "strategy 'moved', offered as gcbr.strategies.random:Gone, cannot be loaded: .*Gone"),
        ("gone", "strategy 'gone', offered as nowhere_to_be_found:Gone, cannot be loaded: No module"),
        ("wrong", "wrong is no class"),
    ],
)
def test_an_offer_that_cannot_be_used_is_told(name: str, said: str):
    with pytest.raises(InputError, match=said):
        find_strategy(name)


@pytest.mark.usefixtures("offers")
def test_an_unknown_name_is_answered_with_the_list_and_the_closest():
    with pytest.raises(
        InputError, match=r"unknown strategy 'thiers'; choose from random, .*theirs.*mean 'theirs'"
    ):
        find_strategy("thiers")
    with pytest.raises(InputError, match=r"unknown strategy 'agee'; choose from .*; did you mean 'age'\?"):
        find_strategy("balanced(agee)")
    with pytest.raises(InputError, match=r"unknown strategy 'AGE'.*mean 'age'"):
        find_strategy("AGE")
    with pytest.raises(InputError, match=r"unknown strategy ''; choose from [^?]*$"):
        find_strategy("balanced()")


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_line_of_the_table_is_short(name: str):
    assert len(STRATEGIES[name].summary) <= 70
    assert len(STRATEGIES[name].paper) <= 40
