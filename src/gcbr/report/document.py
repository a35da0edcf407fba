"""A comparison as one JSON document: what `--json` prints and `result.json` holds."""

from __future__ import annotations

import dataclasses
import math

from gcbr.graph import Dataset
from gcbr.metrics import class_counts
from gcbr.report.summary import MEASURES, Comparison, Estimate, Measure, measure_rows
from gcbr.simulation import SimulationResult
from gcbr.splits import is_scaled
from gcbr.versions import versions

__all__ = ["as_document", "versions"]


def as_document(comparison: Comparison) -> dict[str, object]:
    """Everything to print, plot or repeat the comparison. Repeats differ in the `cost` of a run alone."""
    return {
        "command": comparison.command,
        "versions": versions(),
        "dataset": _dataset(comparison.dataset),
        "settings": {"strategy": comparison.strategy, **dataclasses.asdict(comparison.settings)},
        "summary": _summary(comparison),
        "difference": _difference(comparison),
        "runs": [_run(result) for runs in comparison.results.values() for result in runs],
    }


def _dataset(dataset: Dataset) -> dict[str, object]:
    counts = class_counts(dataset.y, dataset.num_classes).tolist()
    return {
        "name": dataset.graph.name,
        "nodes": dataset.graph.num_nodes,
        "edges": dataset.graph.num_edges,
        "features": dataset.graph.num_features,
        "test_nodes": len(dataset.test),
        "split_in_proportion": is_scaled(dataset.graph.num_nodes),
        "classes": [
            {"name": name, "nodes": count} for name, count in zip(dataset.class_names, counts, strict=True)
        ],
    }


def _summary(comparison: Comparison) -> dict[str, object]:
    rows = measure_rows(comparison)
    return {
        strategy: {row.measure.key: _estimate(row.values[column], row.measure) for row in rows}
        for column, strategy in enumerate(comparison.strategies)
    }


def _difference(comparison: Comparison) -> dict[str, object] | None:
    rows = measure_rows(comparison)
    return {row.measure.key: _estimate(row.lead, row.measure) for row in rows if row.lead} or None


def _estimate(value: Estimate, measure: Measure) -> dict[str, float | None]:
    """As a share, like every other score of the document, not as the percentage people read."""
    margin = None if value.margin is None else value.margin / measure.scale
    return {"mean": value.mean / measure.scale, "margin": margin}


def _run(result: SimulationResult) -> dict[str, object]:
    return {
        "strategy": result.strategy,
        "seed": result.seed,
        "nodes": result.nodes,
        "classes": result.classes,
        "counts": result.counts,
        **{measure.key: getattr(result.final, measure.key) for measure in MEASURES},
        "accuracy_per_class": [_or_none(value) for value in result.accuracy_per_class],
        "curve": [dataclasses.asdict(score) for score in result.curve],
        "cost": {
            "cpu_seconds": result.cpu_seconds,
            "wall_seconds": result.wall_seconds,
            "peak_megabytes": result.peak_megabytes,
        },
    }


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value  # JSON has no nan
