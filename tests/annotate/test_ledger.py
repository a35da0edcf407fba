"""What rows add up to, by hand and for any history."""

from __future__ import annotations

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from gcbr.annotate.ledger import OPEN, Ledger
from gcbr.annotate.store import Answer

_ids = count(1)


def row(
    kind: str, node: int, label: str | None = None, who: str = "Ada", undoes: int | None = None
) -> Answer:
    number = next(_ids)
    return Answer(number, f"t{number:06}", who, node, kind, label, undoes, "gcbr++", 0, f"r-{number}")


def test_labels_stand_in_the_order_of_each_nodes_first_label() -> None:
    ledger = Ledger(
        [
            row("label", 5, "a"),
            row("label", 3, "b"),
            row("label", 9, "a"),
            row("withdraw", 5),
            row("correct", 3, "c"),
            row("label", 5, "d"),  # back in its old place
        ]
    )
    assert list(ledger.labels().items()) == [(5, "d"), (3, "c"), (9, "a")]


def test_undo_brings_back_what_was_before() -> None:
    first, second = row("label", 3, "a"), row("correct", 3, "b")
    ledger = Ledger([first, second])
    ledger.add(row("undo", 3, undoes=second.id))
    assert ledger.labels() == {3: "a"}
    assert ledger.last_act("Ada") == first
    ledger.add(row("undo", 3, undoes=first.id))
    assert ledger.of(3) == OPEN
    assert ledger.last_act("Ada") is None


def test_a_skip_counts_nowhere_until_the_node_is_labeled() -> None:
    ledger = Ledger([row("skip", 3)])
    assert ledger.skips() == {3}
    assert ledger.num_labels == 0
    ledger.add(row("label", 3, "a"))
    assert ledger.skips() == frozenset()
    assert ledger.labels() == {3: "a"}


def test_a_second_opinion_changes_no_label_and_a_correction_settles_it() -> None:
    ledger = Ledger([row("label", 3, "a"), row("second", 3, "b", who="Bob")])
    standing = ledger.of(3)
    assert (standing.label, standing.opinions) == ("a", {"Ada": "a", "Bob": "b"})
    assert standing.is_disputed
    assert not standing.is_settled
    ledger.add(row("correct", 3, "b", who="Cleo"))
    assert ledger.of(3).label == "b"
    assert ledger.of(3).is_settled
    assert [node for node, _ in ledger.asked_twice()] == [3]


def test_a_second_opinion_is_no_news_to_a_learner() -> None:
    ledger = Ledger([row("label", 3, "a"), row("second", 3, "b", who="Bob"), row("skip", 4)])
    assert ledger.num_changes == 2


def test_labels_from_a_file_are_nobodys_act() -> None:
    ledger = Ledger([row("given", 3, "a", who="")])
    assert ledger.labels() == {3: "a"}
    assert ledger.last_act("") is None
    assert ledger.annotators() == {}


@given(
    st.lists(st.tuples(st.sampled_from(["label", "skip", "correct", "withdraw", "undo"]), st.integers(0, 4)))
)
def test_after_any_history_the_sum_is_that_of_the_rows_not_undone(history: list[tuple[str, int]]) -> None:
    """Row by row, with undo, it is what a fresh ledger makes of the rows that remain."""
    ledger, kept, ranks = Ledger(), [], {}
    for number, (kind, node) in enumerate(history):
        if kind == "undo":
            last = ledger.last_act("Ada")
            if last is None or not ledger.is_last_of_node(last):
                continue
            ledger.add(row("undo", last.node, undoes=last.id))
            kept = [one for one in kept if one.id != last.id]
            continue
        if kind == "correct" and ledger.of(node).label is None:
            continue  # a project refuses it
        new = row(kind, node, f"class {number % 3}" if kind in ("label", "correct") else None)
        if kind == "label":
            ranks.setdefault(node, new.id)
        ledger.add(new)
        kept.append(new)
    fresh = Ledger(kept)
    assert dict(ledger.standings) == dict(fresh.standings)
    assert list(ledger.labels()) == sorted(fresh.labels(), key=ranks.__getitem__)
