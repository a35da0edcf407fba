"""Which node is in whose hands: nobody else gets it until it is answered or the lease runs out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

SECONDS = 300.0  # a page that is open renews its lease, so this is how long a closed one keeps a node


class Lease(NamedTuple):
    node: int
    until: float


class Leases:
    """One node for each annotator at most. `clock` gives seconds, and never goes back."""

    def __init__(self, clock: Callable[[], float], seconds: float = SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds
        self._held: dict[str, Lease] = {}

    def take(self, annotator: str, node: int) -> None:
        self._held[annotator] = Lease(node, self._clock() + self._seconds)

    def of(self, annotator: str) -> int | None:
        """The node this person holds; asking renews the lease."""
        lease = self._held.get(annotator)
        if lease is None or lease.until <= self._clock():
            return None
        self.take(annotator, lease.node)
        return lease.node

    def held_by_others(self, annotator: str) -> set[int]:
        now = self._clock()
        return {lease.node for name, lease in self._held.items() if name != annotator and lease.until > now}

    def all_held(self) -> set[int]:
        return self.held_by_others("")

    def release_from(self, annotator: str, node: int) -> None:
        """This person is done with the node."""
        if annotator in self._held and self._held[annotator].node == node:
            del self._held[annotator]
