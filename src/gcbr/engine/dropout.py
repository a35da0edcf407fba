"""Which numbers dropout leaves: a mask drawn sixteen bits at a time."""

from __future__ import annotations

import math

import torch
from torch import Tensor

_LANES = 4  # 16-bit draws in one of 64 bits, which costs as much as one of 32


def kept(shape: torch.Size, rate: float, rng: torch.Generator) -> Tensor:
    """True with probability `1 - rate`, to the nearest 65536th; drawn on the generator's device."""
    size = math.prod(shape)
    wide = torch.empty(-(-size // _LANES), dtype=torch.int64, device=rng.device)
    wide.random_(-(2**63), None, generator=rng)
    draws = wide.view(torch.int16)[:size].view(shape)  # uniform over -32768 .. 32767
    return draws >= round(rate * 65536) - 32768
