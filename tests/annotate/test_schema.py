"""The API held against its own description by schemathesis: no 5xx, no status or reply it does not name."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def hold(served: Any, num_examples: int, mode: GenerationMode) -> set[int]:
    """Try every operation with data that fits its description, or does not; gives the statuses met."""
    token = {"Authorization": f"Bearer {served.token}"}
    api = schemathesis.openapi.from_url(f"{served.base}/openapi.json", headers=token)
    statuses: set[int] = set()
    num_operations = 0
    for found in api.get_all_operations():
        operation = found.ok()
        num_operations += 1

        @settings(
            max_examples=num_examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def keeps_to_its_description(case: Any) -> None:
            reply = case.call_and_validate(headers=token | {"X-Annotator": "Ada"}, checks=CHECKS)
            statuses.add(reply.status_code)

        with suppress(Unsatisfiable):  # where nothing is sent, nothing can be wrong
            keeps_to_its_description()
    assert num_operations == 17
    return statuses


def test_every_operation_keeps_to_its_description(served: Any) -> None:
    assert {200, 202, 404, 409} <= hold(served, 6, GenerationMode.POSITIVE)


@pytest.mark.slow
def test_every_operation_keeps_to_its_description_for_long(served: Any) -> None:
    assert {200, 202, 404, 409} <= hold(served, 150, GenerationMode.POSITIVE)


@pytest.mark.slow
def test_data_of_all_wrong_kinds_is_refused_in_words(served: Any) -> None:
    assert {400, 422} & hold(served, 60, GenerationMode.NEGATIVE)
