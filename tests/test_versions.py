"""What a result was made with."""

from __future__ import annotations

import re

from gcbr.versions import commit, versions


def test_versions_name_what_computes():
    assert {"python", "gcbr", "torch", "numpy", "scipy"} == set(versions())


def test_the_commit_is_that_of_a_checkout_marked_if_changed():
    found = commit()
    assert found is None or re.fullmatch(r"[0-9a-f]{12}\+?", found)
