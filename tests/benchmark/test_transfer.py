"""What policies come to on other graphs: families weigh the same, and nothing is measured twice."""

import json
from pathlib import Path

import pytest
from benchmarks.transfer import RECORDS, Line, measured, recorded

LINE = Line(
    name="somebody",
    policy="",
    features="paper",
    families={"cora": (80.0, 0.5), "guises": (70.0, 0.25), "photo": (90.0, 0.0)},
)


def test_families_weigh_the_same_and_so_do_performance_and_balance():
    assert LINE.means == (pytest.approx(80.0), pytest.approx(0.25))
    assert LINE.score == pytest.approx((0.8 + 0.25) / 2)


def test_what_is_recorded_under_the_rule_needs_no_graph(tmp_path: Path):
    records = tmp_path / "transfer.jsonl"
    text = {"name": "somebody", "policy": "", "features": "paper", "families": {"cora": [80.0, 0.5]}}
    records.write_text(json.dumps(text) + "\n")
    found = measured("somebody", "paper", tmp_path / "no data", records)
    assert found.means == (80.0, 0.5)
    assert records.read_text().count("\n") == 1


def test_every_recorded_policy_was_measured_once_on_all_families():
    lines = recorded(Path(__file__).parents[2] / RECORDS)
    assert len({(line.policy or line.name, line.features) for line in lines}) == len(lines) > 20
    assert {tuple(line.families) for line in lines} == {("cora", "guises", "photo", "photo guises")}
