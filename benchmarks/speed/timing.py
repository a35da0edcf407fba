"""CPU-seconds, the machine-wide measure of every row, and the rows themselves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@dataclass(frozen=True)
class Row:
    """Something measured, in CPU-seconds, beside a plain version of the same work where there is one."""

    work: str
    ours: float
    reference: float | None = None
    target: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.reference is None else self.reference / self.ours
