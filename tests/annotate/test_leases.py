"""Leases by a clock turned by hand."""

from __future__ import annotations

from gcbr.annotate.leases import Leases


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_lease_holds_while_it_is_renewed_and_no_longer() -> None:
    clock = Clock()
    leases = Leases(clock, seconds=10)
    leases.take("Ada", 7)
    clock.now = 9
    assert leases.of("Ada") == 7  # renewed until 19
    clock.now = 18
    assert leases.held_by_others("Bob") == {7}
    clock.now = 19
    assert leases.held_by_others("Bob") == set()
    assert leases.of("Ada") is None


def test_a_person_holds_one_node_and_gives_back_only_their_own() -> None:
    leases = Leases(Clock(), seconds=10)
    leases.take("Ada", 7)
    leases.take("Ada", 8)
    leases.take("Bob", 9)
    assert leases.all_held() == {8, 9}
    leases.release_from("Ada", 9)
    leases.release_from("Ada", 8)
    assert leases.all_held() == {9}
    assert leases.held_by_others("Bob") == set()
