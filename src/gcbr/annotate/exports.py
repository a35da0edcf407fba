"""The labels and what is predicted from them, as files in one folder beside the project."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from gcbr.annotate.ledger import Standing
from gcbr.annotate.project import Project
from gcbr.errors import InputError
from gcbr.files import write_atomically
from gcbr.learner import ActiveLearner

if TYPE_CHECKING:
    import polars as pl

MAX_FAILURES = 5  # kept to be shown


@dataclass(frozen=True)
class ExportFile:
    name: str
    size: int  # bytes
    at: str  # UTC, ISO 8601


@dataclass(frozen=True)
class Result:
    """All that goes into a file."""

    project: Project
    class_names: tuple[str, ...]
    probabilities: torch.Tensor | None  # [num_nodes, num_classes]; None before the first label
    labels: dict[int, str]
    standings: dict[int, Standing]


class Exports:
    """The folder of exports. Names of files are made here; nothing else in the folder can be reached."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.folder = project.path.with_name(f"{project.path.stem}-exports")
        self._lock = threading.Lock()
        self._pending: list[str] = []
        self._failed: list[str] = []

    def begin(self, format: str) -> str:
        """Have a file written, once the learner has time for it; gives the name it will have."""
        write = WRITERS[format]
        with self._lock:
            name = self._free_name(format)
            self._pending.append(name)
        future = self._project.worker.call(lambda learner: self._write(name, write, learner))
        future.add_done_callback(lambda done: self._finish(name, done.exception()))
        return name

    @property
    def pending(self) -> list[str]:
        with self._lock:
            return list(self._pending)

    @property
    def failed(self) -> list[str]:
        """What went wrong, the last first."""
        with self._lock:
            return self._failed[::-1]

    def files(self) -> list[ExportFile]:
        """The newest first."""
        if not self.folder.is_dir():
            return []
        found = [path for path in self.folder.iterdir() if self._is_ours(path)]
        times = {path: path.stat() for path in found}
        return [
            ExportFile(path.name, times[path].st_size, _iso(times[path].st_mtime))
            for path in sorted(found, key=lambda path: (-times[path].st_mtime, path.name))
        ]

    def path_of(self, name: str) -> Path | None:
        """A file of the folder by its name; anything that only looks like one is not there."""
        if name not in {file.name for file in self.files()}:
            return None
        return self.folder / name

    def _is_ours(self, path: Path) -> bool:
        is_named = path.name.startswith(f"{self._project.path.stem}-") and path.suffix[1:] in SUFFIXES
        return is_named and path.is_file() and not path.is_symlink()

    def _free_name(self, format: str) -> str:
        stem = f"{self._project.path.stem}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        taken = {*self._pending, *(file.name for file in self.files())}
        names = (f"{stem}{'' if not number else f'-{number}'}.{SUFFIX[format]}" for number in range(10_000))
        return next(name for name in names if name not in taken)

    def _write(self, name: str, write: Callable[[Path, Result], None], learner: ActiveLearner) -> None:
        result = Result(
            project=self._project,
            class_names=learner.class_names,
            probabilities=learner.predict().cpu() if len(learner.labels) else None,
            labels=self._project.labels(),
            standings=self._project.standings(),
        )
        self.folder.mkdir(exist_ok=True)
        try:
            write(self.folder / name, result)
        except OSError as error:
            raise InputError(f"{name} could not be written ({error.strerror}).") from error

    def _finish(self, name: str, error: BaseException | None) -> None:
        with self._lock:
            self._pending.remove(name)
            if error is not None:
                sentence = str(error) if isinstance(error, InputError) else f"{name}: {error!r}"
                self._failed = [*self._failed, sentence][-MAX_FAILURES:]


def node_table(result: Result) -> pl.DataFrame:
    """One row for each node: label, who gave it and when, and the predicted class of every node."""
    import polars as pl

    graph = result.project.graph
    nodes = range(graph.num_nodes)
    standing = result.standings
    columns: dict[str, list[Any]] = {
        "node": [graph.name_of(node) for node in nodes],
        "label": [result.labels.get(node) for node in nodes],
        "annotator": [_of(standing, node, "annotator") for node in nodes],
        "at": [_of(standing, node, "at") for node in nodes],
        "skipped": [node in standing and standing[node].is_skipped for node in nodes],
    }
    texts = {name: pl.String for name in ("node", "label", "annotator", "at")}
    frame = pl.DataFrame(columns, schema_overrides=texts)
    if result.probabilities is None or not result.class_names:
        return frame
    best = result.probabilities.max(1)
    shares = {
        f"p({name})": result.probabilities[:, cls].numpy() for cls, name in enumerate(result.class_names)
    }
    return frame.with_columns(
        predicted=pl.Series([result.class_names[cls] for cls in best.indices.tolist()], dtype=pl.String),
        probability=pl.Series(best.values.numpy()),
    ).with_columns(pl.Series(name, values) for name, values in shares.items())


def write_csv(path: Path, result: Result) -> None:
    buffer = io.BytesIO()
    node_table(result).write_csv(buffer)
    write_atomically(path, buffer.getvalue())


def write_json(path: Path, result: Result) -> None:
    """The same rows, with what the project was asked for and everything that was said of each node."""
    settings = result.project.settings
    rows = node_table(result).to_dicts()
    for node, standing in result.standings.items():
        rows[node]["opinions"] = dict(standing.opinions)
    document = {
        "graph": settings.graph,
        "fingerprint": settings.fingerprint,
        "strategy": settings.strategy,
        "seed": settings.seed,
        "budget": settings.budget,
        "classes": result.class_names,
        "nodes": rows,
    }
    write_atomically(path, json.dumps(document, ensure_ascii=False, allow_nan=False).encode())


def write_pyg(path: Path, result: Result) -> None:
    """PyG's `Data`: `y` is the label or -1, `train_mask` who has one, `pred` and `prob` the predictions."""
    import importlib
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyG scripts modules in an outdated way
        data_class = importlib.import_module("torch_geometric.data").Data
    graph = result.project.graph
    number = {name: cls for cls, name in enumerate(result.class_names)}
    y = torch.full((graph.num_nodes,), -1)
    for node, label in result.labels.items():
        y[node] = number[label]
    data = data_class(
        x=graph.x.to_dense(),
        edge_index=torch.stack([graph.adjacency.row_of_entry, graph.adjacency.indices.long()]),
        edge_weight=graph.adjacency.values,
        y=y,
        train_mask=y >= 0,
        num_nodes=graph.num_nodes,
        class_names=list(result.class_names),
        node_names=[graph.name_of(node) for node in range(graph.num_nodes)],
    )
    if result.probabilities is not None:
        data.prob, data.pred = result.probabilities, result.probabilities.argmax(1)
    buffer = io.BytesIO()
    torch.save(data, buffer)
    write_atomically(path, buffer.getvalue())


def write_graphml(path: Path, result: Result) -> None:
    import polars as pl

    from gcbr.formats.networks import write_network

    graph = result.project.graph
    nodes = node_table(result).rename({"node": "id"})
    names = nodes["id"]
    rows, columns = graph.adjacency.row_of_entry.numpy(), graph.adjacency.indices.long().numpy()
    is_upper = rows < columns
    edges = pl.DataFrame(
        {
            "source": names.gather(rows[is_upper]),
            "target": names.gather(columns[is_upper]),
            "weight": graph.adjacency.values.double().numpy()[is_upper],
        }
    )
    write_network(path, edges, nodes)


WRITERS: dict[str, Callable[[Path, Result], None]] = {
    "csv": write_csv,
    "json": write_json,
    "pyg": write_pyg,
    "graphml": write_graphml,
}
SUFFIX = {format: {"pyg": "pt"}.get(format, format) for format in WRITERS}
SUFFIXES = frozenset(SUFFIX.values())


def _of(standings: dict[int, Standing], node: int, field: str) -> str | None:
    return getattr(standings[node], field) or None if node in standings else None


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
