"""Co-CS, Co-Phy and Photo as gnn-benchmark published them (Shchur et al. 2018)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from gcbr.datasets.raw import RawFile, RawFolder
from gcbr.datasets.sparse import Array, csr_from_parts, undirected
from gcbr.engine.matrix import Csr
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph
from gcbr.splits import last_nodes

BASE_URL = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"


@dataclass(frozen=True)
class Npz:
    """One graph in one file.

    `class_names` are the file's own, in its order. They stand here because two of the files keep them as a
    pickled array, and a pickled array in them is not read.
    """

    name: str
    class_names: tuple[str, ...]
    file: RawFile

    @property
    def files(self) -> tuple[RawFile, ...]:
        return (self.file,)

    def load(self, raw: RawFolder) -> Dataset:
        return self.parse(raw.read(self.file))

    def parse(self, content: bytes) -> Dataset:
        """The dataset in a file's content. Features are the file's: 0/1 in Photo, else word counts."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                return self._dataset(arrays)
        except InputError:
            raise
        except (
            Exception
        ) as error:  # a broken archive fails in zipfile, zlib, numpy's header or our own checks
            raise InputError(
                f"{self.file.name} is corrupt or cut short ({error}); replace it by the published file"
            ) from error

    def _dataset(self, arrays: Mapping[str, Array]) -> Dataset:
        y = torch.from_numpy(arrays["labels"].astype(np.int64))
        if int(y.min()) < 0 or int(y.max()) >= len(self.class_names):
            raise ValueError(f"labels run from {int(y.min())} to {int(y.max())}")
        edges = _matrix(arrays, "adj")
        adjacency = undirected(edges.row_of_entry, edges.indices.long(), edges.shape[0])
        graph = Graph(self.name, adjacency, _matrix(arrays, "attr"))
        return Dataset(graph, y, self.class_names, last_nodes(graph.num_nodes))


def _matrix(arrays: Mapping[str, Array], prefix: str) -> Csr:
    num_rows, num_columns = (int(size) for size in arrays[f"{prefix}_shape"])
    indptr, indices, data = (arrays[f"{prefix}_{part}"] for part in ("indptr", "indices", "data"))
    return csr_from_parts(indptr, indices, data, (num_rows, num_columns))


CO_CS = Npz(
    name="co-cs",
    class_names=(
        "bioinformatics",
        "machine_learning",
        "computer_vision",
        "NLP",
        "graphics",
        "networks",
        "security",
        "databases",
        "data_mining",
        "game_theory",
        "HCI",
        "information_theory",
        "medical_informatics",
        "robotics",
        "theoretical_cs",
    ),
    file=RawFile(
        "CS/raw/ms_academic_cs.npz",
        "933c745734e78908c7eb77172a673fee0503f30e26e5a99b36814d88534c42e3",
        BASE_URL,
    ),
)
CO_PHY = Npz(
    name="co-phy",
    class_names=("phys rev d", "phys rev a", "phys rev b", "phys rev c", "phys rev e"),
    file=RawFile(
        "Physics/raw/ms_academic_phy.npz",
        "e4d68468eba5fb8f6b280ffd406bd53e6e4295ba1dd2967d6fe99b978e4b3375",
        BASE_URL,
    ),
)
PHOTO = Npz(
    name="photo",
    class_names=(
        "Film Photography",
        "Digital Cameras",
        "Binoculars & Scopes",
        "Lenses",
        "Tripods & Monopods",
        "Video Surveillance",
        "Lighting & Studio",
        "Flashes",
    ),
    file=RawFile(
        "Photo/raw/amazon_electronics_photo.npz",
        "bdb1feb8e6ff42ee44024b04479145029c563fd42fc31bff80af20887ba0439a",
        BASE_URL,
    ),
)
