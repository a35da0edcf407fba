import random

import numpy as np
import pytest
import torch

from gcbr.errors import InputError
from gcbr.seeding import clone_generator, generator, integer, seeded


def draw(rng: torch.Generator) -> list[float]:
    return torch.rand(4, generator=rng).tolist()


def test_the_same_address_draws_the_same():
    assert draw(generator(3, 1, 4)) == draw(generator(3, 1, 4))


def test_a_number_drawn_is_any_below_the_bound():
    rng = generator(0)
    drawn = [integer(3, rng) for _ in range(60)]
    assert set(drawn) == {0, 1, 2}
    assert integer(1, rng) == 0
    assert [integer(2**62, generator(4)) for _ in range(2)] == [integer(2**62, generator(4))] * 2


def test_every_address_draws_its_own():
    addresses = [(0,), (1,), (0, 0), (0, 1), (1, 0), (0, 0, 0), (0, 0, 1), (0, 1, 0), (2**40,), (0, 2**40)]
    assert len({tuple(draw(generator(*address))) for address in addresses}) == len(addresses)


def test_an_address_does_not_depend_on_what_was_drawn_before():
    first = draw(generator(0, 2))
    torch.rand(10)
    np.random.default_rng(0).random(10)
    draw(generator(0, 1))
    assert draw(generator(0, 2)) == first


def test_numbers_of_known_seeds_stay_what_they_are():
    # Drawn once and written down: a change here changes every published run.
    assert torch.randint(1000, (4,), generator=generator(0)).tolist() == [267, 228, 647, 822]
    assert torch.randint(1000, (4,), generator=generator(0, 1, 2)).tolist() == [268, 237, 494, 483]


def test_a_negative_seed_is_refused():
    with pytest.raises(InputError, match="the seed is -1; it must be 0 or more"):
        generator(-1)


def test_a_cloned_generator_draws_what_the_original_would_have():
    rng = generator(0)
    draw(rng)
    twin = clone_generator(rng)
    expected = draw(twin)
    draw(twin)
    assert draw(rng) == expected


def test_a_lent_generator_is_given_back_as_it_was():
    torch.manual_seed(0)
    before, python, numpy = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    with seeded(generator(5)):
        torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
    assert random.getstate() == python
    assert np.random.get_state()[1].tolist() == numpy  # noqa: NPY002


def test_a_lent_generator_is_given_back_after_an_error():
    def draw_and_fail() -> None:
        torch.rand(3)
        raise RuntimeError("on the way")

    before = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="on the way"), seeded(generator(5)):
        draw_and_fail()
    assert torch.equal(torch.get_rng_state(), before)


def test_what_is_drawn_inside_depends_on_the_generator_alone():
    drawn = []
    for global_seed in (0, 1):
        torch.manual_seed(global_seed)
        rng = generator(5)
        for _ in range(2):
            with seeded(rng):
                drawn.append(torch.rand(3).tolist())
    assert drawn[:2] == drawn[2:]
    assert drawn[0] != drawn[1]  # each loan takes a new seed from the generator
