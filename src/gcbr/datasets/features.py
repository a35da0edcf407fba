"""The two rules by which features are scaled. Figures compare only inside one, so tables name theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from gcbr.engine.matrix import Centered, Csr, Dense, Matrix
from gcbr.errors import InputError
from gcbr.graph import Graph

FEATURE_RULES = ("default", "paper")

# The norm of a row decides how much the classifier learns from one answer. Measured on development graphs by
# `python -m benchmarks.feature_norm`: below 8 it learns more slowly, at 16 it ends lower on Cora.
DEFAULT_NORM = 8.0

NUM_CO_PHY_COLUMNS = 2000  # the authors cut Co-Phy's 8415 columns to fit their memory


def apply_rule(dataset_name: str, graph: Graph, rule: str) -> Graph:
    """The graph with its features scaled by `rule`. Give a graph with raw features: no rule is undone."""
    check_rule(dataset_name, rule)
    x = _raw(graph)
    _check_finite(graph, x)
    scaled = rows_of_norm(x, DEFAULT_NORM) if rule == "default" else PAPER_RULES[dataset_name](x)
    return replace(graph, x=scaled, feature_rule=rule)


def check_rule(dataset_name: str, rule: str) -> None:
    """Refuse a rule that does not exist, or that says nothing about this dataset."""
    if rule not in FEATURE_RULES:
        raise InputError(f"unknown feature rule '{rule}'; choose from {', '.join(FEATURE_RULES)}")
    if rule == "paper" and dataset_name not in PAPER_RULES:
        raise InputError(
            f"'{dataset_name}' has no feature rule 'paper': the paper used {', '.join(PAPER_RULES)}; "
            "use the rule 'default'"
        )


def rows_of_norm(matrix: Csr | Dense, norm: float) -> Csr | Dense:
    """Every row at this Euclidean norm; rows of zeros stay."""
    if isinstance(matrix, Dense):
        norms = torch.linalg.vector_norm(matrix.values, dim=1, dtype=torch.float64)
    else:
        norms = _row_sums(replace(matrix, values=matrix.values.double().square())).sqrt()
    return _divided(matrix, norms / norm)


def rows_summing_to_one(matrix: Csr | Dense) -> Csr | Dense:
    """Every row divided by its sum; rows that sum to 0 stay."""
    return _divided(matrix, _row_sums(matrix))


def centered_shares(matrix: Csr | Dense) -> Centered:
    """Rows summing to 1, then the mean of each column taken from it, without storing the difference."""
    base = rows_summing_to_one(matrix)
    if isinstance(base, Dense):
        return Centered(base, base.values.mean(0, dtype=torch.float64).to(base.values.dtype))
    sums = torch.zeros(base.num_columns, dtype=torch.float64)
    sums.index_add_(0, base.indices, base.values.double())
    return Centered(base, (sums / base.shape[0]).to(base.values.dtype))


def presence(matrix: Csr | Dense) -> Csr | Dense:
    """1 for every number above 0: whether a word occurs, not how often."""
    return replace(matrix, values=(matrix.values > 0).to(matrix.values.dtype))


def _co_phy(matrix: Csr | Dense) -> Centered:
    columns = torch.arange(NUM_CO_PHY_COLUMNS)
    cut = Dense(matrix.values[:, columns]) if isinstance(matrix, Dense) else matrix.columns(columns)
    # The file holds word counts, which PyTorch Geometric reads as 0 and 1. So must the authors have: `random`
    # then has their figures, and with counts a point less. Rows sum to 1 over the columns that are left.
    return centered_shares(presence(cut))


def _untouched(matrix: Csr | Dense) -> Csr | Dense:
    return matrix


PAPER_RULES: dict[str, Callable[[Csr | Dense], Matrix]] = {
    "cora": _untouched,
    "citeseer": centered_shares,
    "pubmed": centered_shares,
    "reddit": _untouched,
    # Nothing is published on how the authors scaled this one. Word counts come nearest to their row of
    # `random` (90.7 and 79.1 beside 90.3 and 77.4); words as 0 and 1 give 88.3 and 74.2.
    "co-cs": rows_summing_to_one,
    "co-phy": _co_phy,
}


def _row_sums(matrix: Csr | Dense) -> Tensor:
    # In double precision: a few thousand small numbers are added up.
    if isinstance(matrix, Dense):
        return matrix.values.sum(1, dtype=torch.float64)
    sums = torch.zeros(matrix.shape[0], dtype=torch.float64)
    return sums.index_add_(0, matrix.row_of_entry, matrix.values.double())


def _divided(matrix: Csr | Dense, divisors: Tensor) -> Csr | Dense:
    divisors = divisors.where(divisors != 0, 1.0)
    if isinstance(matrix, Dense):
        return Dense(matrix.values / divisors.to(matrix.values.dtype)[:, None])
    return replace(matrix, values=(matrix.values / divisors[matrix.row_of_entry]).to(matrix.values.dtype))


def _raw(graph: Graph) -> Csr | Dense:
    if not isinstance(graph.x, Csr | Dense):
        raise InputError(f"graph '{graph.name}': its features are scaled already; give the raw ones")
    return graph.x


def _check_finite(graph: Graph, x: Csr | Dense) -> None:
    is_bad = ~x.values.isfinite()
    if not is_bad.any():
        return
    place = is_bad.nonzero()[0].tolist()
    row, column = place if isinstance(x, Dense) else (int(x.row_of_entry[place[0]]), int(x.indices[place[0]]))
    raise InputError(
        f"graph '{graph.name}': feature {column} of node {graph.name_of(row)} is {x.values[tuple(place)]:g}; "
        "features must be finite numbers"
    )
