"""One line for each run."""

from __future__ import annotations

import json

from gcbr.benchmark import records


def test_a_line_is_json_with_the_key_first(make_record):
    document = json.loads(records.to_line(make_record("age", 3)))
    assert next(iter(document)) == "run"
    assert document["run"] == {
        "dataset": "citeseer",
        "features": "paper",
        "test": "fixed",
        "strategy": "age",
        "fingerprint": "",
        "budget": 4,
        "seed": 3,
        "final_epochs": 100,
        "classifier": "usual",
    }
    assert document["accuracy_per_class"] == [1.0, None, 0.25]
    assert document["curve"]["labels"] == [2, 4]


def test_a_line_gives_the_record_again(make_record):
    record = make_record("age", 3, 0.7, test="stratified")
    assert records.from_line(records.to_line(record)) == record


def test_what_is_recorded_is_not_missing(make_record):
    done, other = make_record("random", 0), make_record("random", 1)
    recorded = {done.run: done}
    assert records.missing([done.run, other.run, other.run], recorded) == [other.run]
    assert records.of_runs([other.run, done.run], recorded) == [done]


def test_a_line_without_a_classifier_is_of_the_usual_one(make_record):
    record = make_record("random", 0)
    line = records.to_line(record).replace(',"classifier":"usual"', "")
    assert "classifier" not in line
    assert records.from_line(line) == record
