import pytest
import torch

from gcbr.stopping import FORESEEN, STABLE, WINDOW, Lesson, lesson, stop_hint


def test_a_lesson_is_whether_the_class_was_foreseen_and_what_share_of_predictions_stayed():
    before, after = torch.tensor([0, 1, 1, 2]), torch.tensor([0, 1, 2, 2])
    assert lesson(before, after, node=1, cls=1) == Lesson(True, 0.75)
    assert lesson(before, after, node=2, cls=2) == Lesson(False, 0.75)
    assert lesson(before, before, node=0, cls=5) == Lesson(False, 1.0)  # a class that was not known yet


def test_with_no_answers_there_is_no_advice():
    hint = stop_hint([], [])
    assert not hint.advice
    assert hint.stability == ()
    assert hint.sentence == "Keep labeling: too few answers to say more."


def steady(foreseen: int, stability: float = 1.0) -> list[Lesson]:
    """A window in which this many answers were foreseen."""
    return [Lesson(number < foreseen, stability) for number in range(WINDOW)]


def test_answers_that_tell_nothing_new_advise_to_stop_with_their_evidence():
    hint = stop_hint([Lesson(False, 0.0), *steady(WINDOW)], [3, 4])
    assert hint.advice
    assert hint.evidence == {"answers": WINDOW, "stability": 1.0, "foreseen": 1.0, "fewest_labels": 3}
    assert hint.stability == (1.0,) * WINDOW
    assert hint.sentence == (
        f"More labels would probably change little: of the last {WINDOW} answers 100% were foreseen, "
        "and each left 100.0% of the predictions as they were."
    )


@pytest.mark.parametrize(
    ("lessons", "counts"),
    [
        (steady(WINDOW)[1:], [9, 9]),  # too short a look back
        (steady(int(FORESEEN * WINDOW) - 1), [9, 9]),  # surprises
        (steady(WINDOW, STABLE - 0.001), [9, 9]),  # predictions still moving
        (steady(WINDOW), [9, 1]),  # a class that has hardly been seen
    ],
)
def test_one_bad_sign_is_enough_to_go_on(lessons: list[Lesson], counts: list[int]):
    hint = stop_hint(lessons, counts)
    assert not hint.advice
    assert hint.sentence.startswith("Keep labeling: of the last")
