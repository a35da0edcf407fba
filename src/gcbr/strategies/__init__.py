"""The table of strategies: it feeds the command line, the contract tests and the manual."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from gcbr.errors import InputError
from gcbr.strategies.age import AGE
from gcbr.strategies.alg import ALG
from gcbr.strategies.allie import allie
from gcbr.strategies.anrmab import ANRMAB
from gcbr.strategies.balanced import balanced
from gcbr.strategies.bigene import bigene
from gcbr.strategies.by_score import Degree, Entropy, Margin, PageRank
from gcbr.strategies.coreset import CoreSet
from gcbr.strategies.featprop import FeatProp
from gcbr.strategies.gpa import gpa
from gcbr.strategies.grain import Grain
from gcbr.strategies.graphpart import GraphPart
from gcbr.strategies.learned import from_file, shipped
from gcbr.strategies.own import offered_strategies, offered_strategy, strategy_from_file
from gcbr.strategies.random import Random
from gcbr.view import StrategyFactory


@dataclass(frozen=True)
class StrategyEntry:
    """One line of the table."""

    factory: StrategyFactory
    summary: str
    paper: str = ""
    policy: bool = False  # whether it needs a trained policy
    looks_at_budget: bool = False  # whether it chooses otherwise where more or fewer labels are to come


_GCBR = "Yu, Zhu, Li 2024"

STRATEGIES: dict[str, StrategyEntry] = {
    "random": StrategyEntry(Random, "any candidate, all equally likely"),
    "entropy": StrategyEntry(Entropy, "the least certain prediction", "Settles 2009"),
    "margin": StrategyEntry(
        Margin, "the prediction least decided between two classes", "Scheffer, Decomain, Wrobel 2001"
    ),
    "degree": StrategyEntry(Degree, "the most neighbors"),
    "pagerank": StrategyEntry(PageRank, "the most central node", "Page et al. 1999"),
    "age": StrategyEntry(
        AGE, "central nodes first, then uncertain and typical ones", "Cai, Zheng, Chang 2017"
    ),
    "anrmab": StrategyEntry(
        ANRMAB, "a bandit over the three criteria of age", "Gao et al. 2018", looks_at_budget=True
    ),
    "coreset": StrategyEntry(
        CoreSet, "the embedding farthest from every labeled one", "Sener, Savarese 2018"
    ),
    "featprop": StrategyEntry(
        FeatProp,
        "the middle of each cluster of propagated features",
        "Wu et al. 2019",
        looks_at_budget=True,
    ),
    "graphpart": StrategyEntry(
        GraphPart, "featprop inside each community", "Ma et al. 2022", looks_at_budget=True
    ),
    "alg": StrategyEntry(
        ALG,
        "influence where labels are few and predictions unsure; quotas",
        "Zhang, Shen et al. 2021",
        looks_at_budget=True,
    ),
    "grain": StrategyEntry(
        Grain,
        "the most nodes newly influenced, and of the most kinds",
        "Zhang, Yang et al. 2021",
        looks_at_budget=True,
    ),
    "gpa": StrategyEntry(
        gpa, "a trained policy: informative nodes, whatever their classes", "Hu et al. 2020", policy=True
    ),
    "allie": StrategyEntry(
        allie,
        "a trained policy among uncertain nodes, one of each class",
        "Cui et al. 2022",
        policy=True,
    ),
    "bigene": StrategyEntry(
        bigene,
        "a trained policy for batches: each choice sees the last ones",
        "Zhang et al. 2022",
        policy=True,
    ),
    "gcbr": StrategyEntry(
        shipped("gcbr"),
        "a trained policy: informative nodes, where labels are few",
        _GCBR,
        policy=True,
        looks_at_budget=True,
    ),
    "gcbr++": StrategyEntry(
        shipped("gcbr++"),
        "gcbr, trained to avoid classes that have their share",
        _GCBR,
        policy=True,
        looks_at_budget=True,
    ),
    "balanced(age)": StrategyEntry(balanced(AGE), "age, in the class furthest behind; so with any strategy"),
}

DEFAULT_STRATEGY = "gcbr++"

_BALANCED = re.compile(r"balanced\((.*)\)")
_IN_FILE = re.compile(r".+\.py:\w+")


def find_strategy(name: str) -> StrategyFactory:
    """The strategy called `name`; an unknown name is answered with the list and the closest match.

    One of the table, `balanced(NAME)`, a policy's file `my-policy.safetensors`, a class in a file
    `my_file.py:MyStrategy`, or a name that an installed package offers.
    """
    if name in STRATEGIES:
        return STRATEGIES[name].factory
    if name.endswith(".safetensors"):
        return from_file(Path(name))
    if match := _BALANCED.fullmatch(name):
        return balanced(find_strategy(match[1].strip()))
    if _IN_FILE.fullmatch(name):
        return strategy_from_file(name)
    offered = offered_strategies()
    if name in offered:
        return offered_strategy(name)
    raise _unknown(name, [*STRATEGIES, *offered])


def _unknown(name: str, known: list[str]) -> InputError:
    file = name.rstrip(":")
    if file.endswith(".py"):
        return InputError(f"'{file}' is a file; name the class in it as well: {file}:MyStrategy")
    close = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return InputError(f"unknown strategy '{name}'; choose from {', '.join(known)}{hint}")
