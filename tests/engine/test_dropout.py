import pytest
import torch

from gcbr.engine.dropout import kept
from gcbr.seeding import generator


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_a_number_is_kept_with_one_minus_the_rate(rate: float):
    share = float(kept(torch.Size([1000, 999]), rate, generator(0)).float().mean())
    assert share == pytest.approx(1 - rate, abs=5 * (rate * (1 - rate) / 999_000) ** 0.5)


def test_each_of_the_lanes_of_one_draw_is_fair_and_its_own():
    # Four neighbors come out of one 64-bit draw: all sixteen patterns of them must be equally likely.
    patterns = kept(torch.Size([100_000, 4]), 0.5, generator(1)).int() @ torch.tensor([8, 4, 2, 1]).int()
    counts = torch.bincount(patterns, minlength=16)
    assert (counts - 6250).abs().max() < 5 * (100_000 * 15 / 256) ** 0.5


def test_nothing_dropped_keeps_everything_and_the_size_need_not_be_a_multiple_of_four():
    mask = kept(torch.Size([3, 7]), 0.0, generator(2))
    assert mask.shape == (3, 7)
    assert mask.all()
