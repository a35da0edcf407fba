"""Cora, CiteSeer and PubMed from Planetoid's files (Yang et al. 2016), as PyTorch Geometric builds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from gcbr.datasets.raw import RawFile, RawFolder
from gcbr.datasets.sparse import Array, undirected
from gcbr.datasets.unpickle import loads
from gcbr.engine.matrix import Csr
from gcbr.graph import Dataset, Graph

T = TypeVar("T")

BASE_URL = "https://github.com/kimiyoung/planetoid/raw/master/data"


@dataclass(frozen=True)
class Planetoid:
    """One of the three graphs: the sums of its files, and how to read them.

    `all*` are the nodes before the test nodes, `t*` the test nodes in the order of `test.index`. `x` and `y`
    are the first of `all*`: `x` is not read, but it makes a folder that PyTorch Geometric can use too.
    """

    name: str
    folder: str
    class_names: tuple[str, ...]  # in the order of the one-hot columns, known by their distinct class sizes
    sums: Mapping[str, str]  # part of the file's name -> SHA-256

    @property
    def files(self) -> tuple[RawFile, ...]:
        return tuple(self._file(part) for part in self.sums)

    def load(self, raw: RawFolder) -> Dataset:
        test = torch.tensor([int(line) for line in raw.read(self._file("test.index")).split()])
        num_nodes = int(test.max()) + 1
        x = _features(self._read(raw, "allx", Csr), self._read(raw, "tx", Csr), test, num_nodes)
        y = _classes(self._read(raw, "ally", np.ndarray), self._read(raw, "ty", np.ndarray), test, num_nodes)
        graph = Graph(self.name, _adjacency(self._read(raw, "graph", dict), num_nodes), x)
        num_public = len(self._read(raw, "y", np.ndarray))
        return Dataset(graph, y, self.class_names, test.sort().values, torch.arange(num_public))

    def _file(self, part: str) -> RawFile:
        return RawFile(f"{self.folder}/raw/ind.{self.name}.{part}", self.sums[part], BASE_URL)

    def _read(self, raw: RawFolder, part: str, kind: type[T]) -> T:
        file = self._file(part)
        return loads(raw.read(file), file.name, kind)


def _features(allx: Csr, tx: Csr, test: Tensor, num_nodes: int) -> Csr:
    rows = torch.cat([allx.row_of_entry, test[tx.row_of_entry]])
    columns = torch.cat([allx.indices, tx.indices])
    return Csr.from_entries(rows, columns, torch.cat([allx.values, tx.values]), (num_nodes, allx.num_columns))


def _classes(ally: Array, ty: Array, test: Tensor, num_nodes: int) -> Tensor:
    # CiteSeer's test.index skips 15 ids: nodes that are cited, but have neither features nor a class. As in
    # PyTorch Geometric their empty rows stay, and the largest of their all-zero class columns is the first.
    one_hot = np.zeros((num_nodes, ally.shape[1]))
    one_hot[: len(ally)] = ally
    one_hot[test.numpy()] = ty
    return torch.from_numpy(one_hot.argmax(axis=1))


def _adjacency(neighbors: dict[int, list[int]], num_nodes: int) -> Csr:
    sources = [node for node, others in neighbors.items() for _ in others]
    targets = [other for others in neighbors.values() for other in others]
    return undirected(torch.tensor(sources), torch.tensor(targets), num_nodes)


CORA = Planetoid(
    name="cora",
    folder="Cora",
    class_names=(
        "Theory",
        "Reinforcement Learning",
        "Genetic Algorithms",
        "Neural Networks",
        "Probabilistic Methods",
        "Case Based",
        "Rule Learning",
    ),
    sums={
        "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
        "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    },
)
CITESEER = Planetoid(
    name="citeseer",
    folder="CiteSeer",
    class_names=(
        "AI",
        "ML",
        "IR",
        "DB",
        "Agents",
        "HCI",
    ),
    sums={
        "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    },
)
PUBMED = Planetoid(
    name="pubmed",
    folder="PubMed",
    class_names=(
        "Diabetes Mellitus, Experimental",
        "Diabetes Mellitus, Type 1",
        "Diabetes Mellitus, Type 2",
    ),
    sums={
        "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
        "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    },
)
