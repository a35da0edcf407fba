"""The policies that ship with the package: one file for each method and feature rule."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gcbr.checkpoints import PolicyCard, load_policy
from gcbr.errors import InputError
from gcbr.policy import Policy

_FOLDER = Path(__file__).parent


def shipped() -> dict[str, Path]:
    """The files by name, such as `gcbr++-default`."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.safetensors"))}


@cache
def shipped_policy(method: str, feature_rule: str) -> tuple[Policy, PolicyCard]:
    """The policy of a method for graphs whose features were scaled by a rule."""
    files = shipped()
    name = f"{method}-{feature_rule}"
    if name not in files:
        raise InputError(
            f"no policy of '{method}' ships for features scaled by the rule '{feature_rule}'; "
            f"there are {', '.join(files) or 'none at all'}"
        )
    return load_policy(files[name])
