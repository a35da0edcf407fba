"""Reading the pickles datasets were published as, without running anything they name.

A pickle is a program that may call whatever it names. Here it can name only the few things below, none of
which is NumPy's or SciPy's own: each takes down the raw parts, and the arrays are built from them afterwards.
"""

from __future__ import annotations

import io
import pickle
import re
from collections import defaultdict
from typing import Any, ClassVar, TypeVar

import numpy as np

from gcbr.datasets.sparse import Array, csr_from_parts
from gcbr.errors import InputError

T = TypeVar("T")


def loads(content: bytes, origin: str, kind: type[T]) -> T:
    """The value in `content`: an ndarray, a `Csr` of the engine, a number, or plain containers of these.

    `origin` names the file in errors; a value of another type than `kind` is one.
    """
    try:
        value = _plain(_Unpickler(io.BytesIO(content), encoding="latin1").load())  # latin1: bytes of Python 2
    except InputError as error:
        raise InputError(f"{origin} {error}") from error
    except Exception as error:  # a broken pickle raises whatever its broken instructions happen to hit
        raise InputError(
            f"{origin} is corrupt or cut short ({error}); replace it by the published file"
        ) from error
    if not isinstance(value, kind):
        raise InputError(f"{origin} holds a {type(value).__name__}, expected a {kind.__name__}")
    return value


class _Dtype:
    """Stands in for numpy.dtype: booleans, integers and floats only."""

    def __init__(self, code: str, *_: object) -> None:
        if not re.fullmatch(r"b1|[iu][1248]|f[248]", code):
            raise ValueError(f"array type '{code}' is not a plain number")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype = self.dtype.newbyteorder(state[1])


class _Array:
    """Stands in for numpy.ndarray."""

    array: Array

    @classmethod
    def reconstruct(cls, *_: object) -> _Array:
        return cls()

    @classmethod
    def from_buffer(cls, data: bytes, dtype: _Dtype, shape: tuple[int, ...], order: str) -> _Array:
        made = cls()
        made.__setstate__((1, shape, dtype, order == "F", data))
        return made

    @classmethod
    def scalar(cls, dtype: _Dtype, data: bytes | str) -> Any:
        return cls.from_buffer(_bytes(data), dtype, (), "C").array.item()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, shape, dtype, is_fortran, data = state
        flat = np.frombuffer(_bytes(data), dtype.dtype)
        self.array = flat.reshape(shape, order="F" if is_fortran else "C").astype(
            dtype.dtype.newbyteorder("=")
        )


class _Csr:
    """Stands in for scipy.sparse.csr_matrix."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        num_rows, num_columns = state["_shape"]
        indptr, indices, data = (state[key].array for key in ("indptr", "indices", "data"))
        self.matrix = csr_from_parts(indptr, indices, data, (int(num_rows), int(num_columns)))


class _Unpickler(pickle.Unpickler):
    # Modules moved over the years; files keep the names of the day they were written.
    admitted: ClassVar[dict[str, object]] = {
        "__builtin__.list": list,
        "builtins.list": list,
        "collections.defaultdict": defaultdict,
        "numpy.dtype": _Dtype,
        "numpy.ndarray": _Array,
        "numpy.core.multiarray._reconstruct": _Array.reconstruct,
        "numpy._core.multiarray._reconstruct": _Array.reconstruct,
        "numpy.core.multiarray.scalar": _Array.scalar,
        "numpy._core.multiarray.scalar": _Array.scalar,
        "numpy.core.numeric._frombuffer": _Array.from_buffer,
        "numpy._core.numeric._frombuffer": _Array.from_buffer,
        "scipy.sparse.csr.csr_matrix": _Csr,
        "scipy.sparse._csr.csr_matrix": _Csr,
    }

    def find_class(self, module: str, name: str) -> object:
        if f"{module}.{name}" not in self.admitted:
            raise InputError(
                f"asks for '{module}.{name}', which a dataset has no use for; nothing of it was run: "
                "only arrays of numbers, sparse CSR matrices, lists and dictionaries are read"
            )
        return self.admitted[f"{module}.{name}"]


def _bytes(data: bytes | str) -> bytes:
    return data.encode("latin1") if isinstance(data, str) else data


def _plain(value: object) -> object:
    """The value with every stand-in replaced by what it stands for."""
    match value:
        case _Array():
            return value.array
        case _Csr():
            return value.matrix
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return type(value)(_plain(item) for item in value)
        case bool() | int() | float() | str() | bytes() | None:
            return value
    raise ValueError(f"a {type(value).__name__} stands where data should")
