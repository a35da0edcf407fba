"""Randomness from one seed: every draw names its generator, and every generator has an address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from gcbr.errors import InputError


def generator(seed: int, *address: int) -> torch.Generator:
    """A generator of its own for each address under a seed, whoever else has drawn what before."""
    if seed < 0:
        raise InputError(f"the seed is {seed}; it must be 0 or more")
    state = np.random.SeedSequence(seed, spawn_key=address).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state[0] >> 1))  # manual_seed takes 63 bits


def integer(below: int, rng: torch.Generator) -> int:
    """One of 0, ..., below - 1, all equally likely."""
    return int(torch.randint(below, (1,), generator=rng, device=rng.device))


def clone_generator(rng: torch.Generator) -> torch.Generator:
    """A generator that will draw what `rng` would have drawn."""
    twin = torch.Generator(rng.device)
    twin.set_state(rng.get_state())
    return twin


@contextmanager
def seeded(rng: torch.Generator) -> Iterator[None]:
    """Lend PyTorch's global generator a seed drawn from `rng`, then give it back as it was.

    Layer initializers and dropout modules know no other generator. Each GPU in use has one as well.
    """
    seed = integer(2**62, rng)
    in_use = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    gpus = range(torch.cuda.device_count()) if in_use else ()
    with torch.random.fork_rng(devices=gpus):
        torch.manual_seed(seed)
        yield
