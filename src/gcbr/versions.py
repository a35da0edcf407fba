"""What a result was made with: the versions of what computes, and the commit of a checkout."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

_PACKAGES = ("gcbr", "torch", "numpy", "scipy")


def versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def commit() -> str | None:
    """The commit this package runs from, with a `+` if its files were changed since; None if installed."""
    # A package installed inside somebody's checkout is no part of it: git does not know its files.
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    name = _git("rev-parse", "--short=12", "HEAD")
    if name is None:
        return None
    return name if _git("diff", "--quiet", "HEAD", "--", ".") is not None else f"{name}+"


def _git(*arguments: str) -> str | None:
    """What git answers, or None where it refuses or is not there."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=Path(__file__).parent,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
