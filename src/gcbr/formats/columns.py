"""Columns of a table of nodes turned into features and labels, by rules that the notes repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from gcbr.datasets.sparse import csr_from_parts
from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError

if TYPE_CHECKING:
    import polars as pl

LABEL_COLUMNS = ("label", "class", "y")
MAX_CATEGORIES = 100  # a column with more distinct texts is read as words
MAX_WORDS = 5  # on average; longer texts are read as words even where few differ
NUM_HASHED = 512  # columns that words are hashed into
MOSTLY = 0.9  # a column with this share of numbers is meant as numbers
MIN_NAMES = 50  # so many classes of one node each are names, not classes
DENSE_SHARE = 0.25  # of numbers other than 0, from which on every number is stored

Labels = bool | str  # True: the column called label, class or y; False: none; else the column of this name
Place = Callable[[int], str]


def split_labels(
    frame: pl.DataFrame | None, wanted: Labels, notes: list[str]
) -> tuple[pl.DataFrame | None, pl.Series | None]:
    """The columns that may become features, and the one that holds the labels."""
    if isinstance(wanted, str) and (frame is None or wanted not in frame.columns):
        there = ", ".join(frame.columns) if frame is not None and frame.width else "none"
        raise InputError(f"no column '{wanted}' for the labels; the nodes have the columns: {there}")
    if frame is None:
        return None, None
    found = [name for name in frame.columns if name.lower() in LABEL_COLUMNS and name != wanted]
    if wanted is True and len(found) > 1:
        raise InputError(f"columns {' and '.join(found)} may both be the labels; say which one is")
    chosen = wanted if isinstance(wanted, str) else found.pop() if wanted and found else None
    if chosen is not None:
        notes.append(f"column '{chosen}' was read as the labels")
    for name in found:  # as a feature it would give the answers away
        notes.append(f"column '{name}' left out: by its name it holds labels")
    others = frame.drop(found if chosen is None else [chosen, *found])
    return others, None if chosen is None else frame[chosen]


def labels_of(column: pl.Series, place: Place) -> dict[int, str]:
    """Class names by node; an empty cell is a node without a label."""
    import polars as pl

    if column.dtype.is_nested():
        raise InputError(
            f"column '{column.name}' holds several labels for a node; one class each is supported"
        )
    texts = _as_classes(column, place).cast(pl.String)
    is_given = (texts.is_not_null() & (texts != "")).fill_null(False)
    classes = set(texts.filter(is_given).unique())
    _check_single(column.name, classes)
    num_given = int(is_given.sum())
    if len(classes) == num_given >= MIN_NAMES:
        raise InputError(
            f"column '{column.name}' has {num_given} labels and no two alike; these are names or numbers, "
            "not classes: choose another column of labels, or none"
        )
    nodes = is_given.arg_true().to_list()
    return dict(zip(nodes, texts.filter(is_given).to_list(), strict=True))


def features_of(frame: pl.DataFrame, place: Place, notes: list[str]) -> Csr | Dense | None:
    """All columns side by side; None where no column says anything."""
    from scipy.sparse import csr_array, hstack

    blocks = [block for column in frame if (block := _block(column, place, notes)) is not None]
    _note_numbers(len(blocks) - sum(isinstance(block, csr_array) for block in blocks), notes)
    if not blocks:
        return None
    num_rows, num_columns = frame.height, sum(block.shape[1] for block in blocks)
    num_stored = sum(
        block.nnz if isinstance(block, csr_array) else np.count_nonzero(block) for block in blocks
    )
    if num_stored < DENSE_SHARE * num_rows * num_columns:
        joined = csr_array(hstack([csr_array(block) for block in blocks], format="csr"))
        return csr_from_parts(joined.indptr, joined.indices, joined.data, (num_rows, num_columns))
    dense = [block.toarray() if isinstance(block, csr_array) else block for block in blocks]
    return Dense(torch.from_numpy(np.concatenate(dense, axis=1, dtype=np.float32)))


def _block(column: pl.Series, place: Place, notes: list[str]) -> Any:
    """The features of one column: a NumPy array or a sparse one of SciPy, [num_nodes, any], or None."""
    import polars as pl

    if column.dtype == pl.Boolean or column.dtype.is_numeric():
        return _numbers(column, place, notes)
    if column.dtype.is_nested():
        return _vectors(column, place, notes)
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return _text(column.cast(pl.String), place, notes)
    notes.append(f"column '{column.name}' ({column.dtype}) left out: neither a number nor text")
    return None


def _text(column: pl.Series, place: Place, notes: list[str]) -> Any:
    import polars as pl

    texts = column.replace("", None)
    given = texts.drop_nulls()
    if not len(given):
        notes.append(f"column '{column.name}' left out: it is empty")
        return None
    numbers = texts.str.strip_chars().cast(pl.Float64, strict=False)
    share = (len(given) - (numbers.null_count() - texts.null_count())) / len(given)
    if share == 1:
        return _numbers(numbers, place, notes)
    if share >= MOSTLY:
        row = int((numbers.is_null() & texts.is_not_null()).arg_true()[0])
        raise InputError(
            f"{place(row)}: column '{column.name}' holds numbers, but here it is '{texts[row]}'; "
            "expected a number or nothing"
        )
    num_words = float(given.str.count_matches(r"\S+").mean() or 0)  # type: ignore[arg-type]
    if given.n_unique() <= MAX_CATEGORIES and num_words <= MAX_WORDS:
        return _one_hot(texts, notes)
    return _hashed(texts, notes)


def _numbers(column: pl.Series, place: Place, notes: list[str]) -> npt.NDArray[np.float32] | None:
    import polars as pl

    values = column.cast(pl.Float64)
    num_missing = values.null_count()
    if num_missing == len(values):
        notes.append(f"column '{column.name}' left out: it is empty")
        return None
    numbers = values.fill_null(0.0).to_numpy()
    _check_finite(numbers, column.name, place)
    if num_missing:
        mean = numbers.sum() / (len(numbers) - num_missing)
        numbers = values.fill_null(mean).to_numpy()
        notes.append(f"column '{column.name}': empty cells filled with the mean, {mean:g} ({num_missing:,})")
    return numbers.astype(np.float32)[:, None]


def _vectors(column: pl.Series, place: Place, notes: list[str]) -> npt.NDArray[np.float32] | None:
    """A column of lists of numbers, all of one length."""
    rows = column.to_list()
    width = len(rows[0]) if rows[0] is not None else 0
    for row, values in enumerate(rows):
        if values is None or len(values) != width:
            size = "nothing" if values is None else f"a list of {len(values)}"
            raise InputError(
                f"{place(row)}: column '{column.name}' holds {size}; expected {width} numbers as before"
            )
    try:
        matrix = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"column '{column.name}' holds lists of something other than numbers") from error
    for numbers in matrix.T:
        _check_finite(numbers, column.name, place)
    return matrix.astype(np.float32)


def _check_finite(numbers: npt.NDArray[np.float64], name: str, place: Place) -> None:
    with np.errstate(over="ignore"):
        is_bad = ~np.isfinite(
            numbers.astype(np.float32)
        )  # what single precision cannot hold is no number to us
    if is_bad.any():
        row = int(is_bad.argmax())
        raise InputError(
            f"{place(row)}: column '{name}' is {numbers[row]:g}; expected a finite number or nothing"
        )


def _one_hot(texts: pl.Series, notes: list[str]) -> Any:
    import polars as pl
    from scipy.sparse import csr_array

    categories = texts.drop_nulls().unique().sort()
    codes = texts.cast(pl.Enum(categories)).to_physical()
    rows = codes.is_not_null().arg_true().to_numpy()
    columns = codes.drop_nulls().to_numpy().astype(np.int64)
    notes.append(f"column '{texts.name}' became {len(categories)} features, one for each of its values")
    _note_missing(texts, notes)
    shape = (len(texts), len(categories))
    return csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)


def _hashed(texts: pl.Series, notes: list[str]) -> Any:
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    counts = HashingVectorizer(n_features=NUM_HASHED, alternate_sign=False, norm=None).transform(
        texts.fill_null("").to_list()
    )
    notes.append(f"column '{texts.name}' was read as text: {NUM_HASHED} features, TF-IDF of hashed words")
    _note_missing(texts, notes)
    return csr_array(TfidfTransformer().fit_transform(counts).astype(np.float32))


def _note_numbers(num_columns: int, notes: list[str]) -> None:
    if num_columns:
        notes.append(
            f"{num_columns:,} column{'s' * (num_columns > 1)} of numbers became features as they are"
        )


def _note_missing(texts: pl.Series, notes: list[str]) -> None:
    if texts.null_count():
        notes.append(f"column '{texts.name}': empty cells became zeros ({texts.null_count():,})")


def _as_classes(column: pl.Series, place: Place) -> pl.Series:
    """Integers and text name classes; numbers with a fraction are amounts, which no class is."""
    import polars as pl

    if column.dtype == pl.String:
        numbers = column.replace("", None).cast(pl.Float64, strict=False)
        is_number = numbers.null_count() == column.replace("", None).null_count()
    else:
        is_number = column.dtype.is_numeric()
        numbers = column.cast(pl.Float64) if is_number else column
    if not is_number or not len(numbers.drop_nulls()):
        return column
    is_whole = (numbers.is_null() | (numbers == numbers.floor())).fill_null(False)
    if not is_whole.all():
        row = int((~is_whole).arg_true()[0])
        raise InputError(
            f"{place(row)}: column '{column.name}' is {column[row]}, a numeric target; "
            "labels must be classes: text or whole numbers"
        )
    return column.cast(pl.Int64) if column.dtype.is_float() else column


def _check_single(name: str, classes: set[str]) -> None:
    """Refuse "a;b" where "a" and "b" are classes of their own."""
    for cls in sorted(classes):
        for separator in ";|":
            parts = [part.strip() for part in cls.split(separator)]
            if len(parts) > 1 and classes.issuperset(parts):
                raise InputError(
                    f"column '{name}' holds '{cls}', several labels for a node; one class each is supported"
                )
