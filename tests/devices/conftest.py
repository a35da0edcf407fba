"""A simulated device, where no real one is at hand: it holds its numbers apart as CUDA does."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

AWAY = torch.device("lazy", 0)  # PyTorch knows it by name, and needs no driver for it
Simulate = Callable[[], AbstractContextManager[None]]
aten = torch.ops.aten


class AwayTensor(Tensor):
    """A tensor that says it is on the simulated device; its numbers are `here`."""

    here: Tensor

    @staticmethod
    def __new__(cls, here: Tensor) -> AwayTensor:
        layout = {"strides": here.stride(), "storage_offset": here.storage_offset()}
        away = Tensor._make_wrapper_subclass(cls, here.size(), dtype=here.dtype, device=AWAY, **layout)
        away.here = here
        return away

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(f"{func} outside the simulation")

    def tolist(self) -> Any:
        return self.here.tolist()


class Simulation(TorchDispatchMode):
    """Computes on the CPU what is asked of the simulated device, and refuses what CUDA refuses."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(kwargs or {})
        leaves = tree_leaves((args, given))
        known = {id(leaf.here): leaf for leaf in leaves if isinstance(leaf, AwayTensor)}
        if known and func not in _COPIES:
            _refuse_mixing(func, args, leaves)
            _refuse_other_layouts(func, args)
        is_away = bool(known)
        if given.get("device") is not None:
            is_away = torch.device(given["device"]).type == AWAY.type
            given["device"] = torch.device("cpu")
        result = func(*tree_map(_here, args), **tree_map(_here, given))

        def away(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            # What was changed in place is the tensor that it was.
            return known[id(value)] if id(value) in known else AwayTensor(value)

        return tree_map(away, result) if is_away else result


_COPIES = {aten._to_copy.default, aten.copy_.default}
_BY_INDEX = {
    aten.index.Tensor,
    aten.index_put.default,
    aten.index_put_.default,
    aten._index_put_impl_.default,
}


def _refuse_mixing(func: Any, args: Any, leaves: list[Any]) -> None:
    """From the CPU, CUDA takes single numbers and the places of an indexing, and nothing else."""
    if any(isinstance(leaf, torch.Generator) for leaf in leaves):
        raise RuntimeError(f"{func} on {AWAY} with a generator of the CPU")
    checked = tree_leaves([args[0], *args[2:]]) if func in _BY_INDEX else leaves
    strangers = [leaf for leaf in checked if isinstance(leaf, Tensor) and not isinstance(leaf, AwayTensor)]
    is_written_to = func._schema.is_mutable and any(stranger is args[0] for stranger in strangers)
    is_indexed = func in _BY_INDEX and any(stranger is args[0] for stranger in strangers)
    if is_written_to or is_indexed or any(stranger.dim() > 0 for stranger in strangers):
        raise RuntimeError(f"{func} on {AWAY} with tensors of the CPU, {[list(s.shape) for s in strangers]}")


def _refuse_other_layouts(func: Any, args: Any) -> None:
    """CUDA's fused optimizer wants parameters, gradients and moments laid out alike in memory."""
    if func is not aten._fused_adam_.default:
        return
    for group in zip(*args[:4], strict=True):
        layouts = [[step for step, size in zip(t.stride(), t.shape, strict=True) if size > 1] for t in group]
        if any(layout != layouts[0] for layout in layouts):
            raise RuntimeError(f"{func} on {AWAY} with the strides {layouts}")


def _here(value: Any) -> Any:
    return value.here if isinstance(value, AwayTensor) else value


@pytest.fixture
def away() -> torch.device:
    return AWAY


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Simulate:
    """`with simulated():` there is a device to move things to, in this thread."""
    # CUDA's optimizers are fused as well.
    optimizers = importlib.import_module("torch.optim.optimizer")  # no attribute of its package
    monkeypatch.setattr(optimizers, "_get_fused_kernels_supported_devices", lambda: ["cpu", AWAY.type])

    @contextmanager
    def simulate() -> Iterator[None]:
        # `torch.tensor` then makes a CPU tensor and moves it, where the simulation gets to see it.
        torch._C._set_only_lift_cpu_tensors(True)
        try:
            with Simulation():
                yield
        finally:
            torch._C._set_only_lift_cpu_tensors(False)

    return simulate
