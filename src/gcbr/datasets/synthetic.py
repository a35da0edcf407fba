"""Graphs drawn to order: a degree-corrected block model (Karrer and Newman 2011) with a chosen class skew."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gcbr.datasets.sparse import distinct, ones_at, undirected
from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph
from gcbr.seeding import generator
from gcbr.splits import last_nodes

BATCH = 1 << 21  # numbers drawn at once
MAX_ROUNDS = 60  # of drawing edges again where they fell on earlier ones


@dataclass(frozen=True)
class SyntheticConfig:
    """What the graph should be like; each field is also an option of the name `synthetic:...`."""

    nodes: int = 2000
    classes: int = 5
    skew: float = 10.0  # largest class to smallest; sizes fall geometrically from class 0 on
    homophily: float = 0.8  # fraction of the edges that stay inside a class
    degree: float = 8.0  # mean number of neighbors
    tail: float = 3.0  # exponent of the degrees' power law: smaller gives larger hubs
    features: int = 64
    words: int = 0  # 0: Gaussian columns; otherwise 0/1 columns, this many words drawn for each node
    signal: float = 1.0  # what features tell of the class; 0: nothing (see `_gaussian` and `_bag_of_words`)

    def __post_init__(self) -> None:
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if not low <= value <= high:
                bound = f"from {low:g} up" if math.isinf(high) else f"between {low:g} and {high:g}"
                raise InputError(f"synthetic: {name}={value:g} is not {bound}")
        if self.classes > self.features and self.words:
            raise InputError(
                f"synthetic: features={self.features} cannot hold a word for each of {self.classes} classes; "
                f"give features={self.classes} or more"
            )
        if min(class_sizes(self)) < 2:
            raise InputError(
                f"synthetic: nodes={self.nodes} leaves the smallest of {self.classes} classes at skew="
                f"{self.skew:g} fewer than 2 nodes; give more nodes, fewer classes or less skew"
            )
        _check_room(self)


_RANGES = (
    ("nodes", 10, 10**9),
    ("classes", 2, 10**4),
    ("skew", 1, math.inf),
    ("homophily", 0, 1),
    ("degree", 0.1, 10**4),
    ("tail", 2.1, 100),
    ("features", 1, 10**6),
    ("words", 0, 10**4),
    ("signal", 0, 10**4),
)


def synthetic(config: SyntheticConfig, seed: int, name: str = "synthetic") -> Dataset:
    """Draw a graph; the same configuration and seed give the same one."""
    draws = [generator(seed, part) for part in range(4)]  # so that changing one part leaves the others alone
    class_of_slot = torch.arange(config.classes).repeat_interleave(torch.tensor(class_sizes(config)))
    # Slots are sorted by class; nodes are not, or the last ids would be one class.
    node_of_slot = torch.randperm(config.nodes, generator=draws[0])
    y = torch.empty_like(class_of_slot)
    y[node_of_slot] = class_of_slot
    ends = _Ends(class_of_slot, _propensities(config, class_of_slot, draws[1]))
    adjacency = _draw_edges(config, ends, node_of_slot, draws[2])
    graph = Graph(name, adjacency, _features(config, y, draws[3]))
    class_names = tuple(f"class {cls}" for cls in range(config.classes))
    return Dataset(graph, y, class_names, last_nodes(config.nodes))


def parse_options(text: str) -> tuple[SyntheticConfig, int]:
    """The configuration and seed of `nodes=100000,classes=7,seed=3`; what is not named keeps its default."""
    kinds: dict[str, type] = {field.name: type(field.default) for field in fields(SyntheticConfig)}
    kinds["seed"] = int
    given: dict[str, Any] = {}
    for option in filter(None, text.split(",")):
        key, _, value = (part.strip() for part in option.partition("="))
        if key in given:
            raise InputError(f"synthetic: {key} is given twice; give it once")
        given[key] = _value(key, value, kinds)
    seed = given.pop("seed", 0)
    if seed < 0:
        raise InputError(f"synthetic: seed={seed} is negative; give 0 or more")
    return SyntheticConfig(**given), seed


def _value(key: str, value: str, kinds: dict[str, type]) -> float:
    if key not in kinds:
        close = difflib.get_close_matches(key, kinds, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(f"synthetic: unknown option '{key}'; {hint}choose from {', '.join(kinds)}")
    kind = kinds[key]
    try:
        number: float = kind(value)
    except ValueError as error:
        wanted = "a whole number" if kind is int else "a number"
        raise InputError(f"synthetic: {key}={value} is not {wanted}") from error
    return number


def class_sizes(config: SyntheticConfig) -> list[int]:
    """Nodes of each class: a geometric fall from the largest to the smallest, `skew` times apart."""
    ratio = config.skew ** (-1 / (config.classes - 1))
    weights = [ratio**cls for cls in range(config.classes)]
    rest = [round(config.nodes * weight / sum(weights)) for weight in weights[1:]]
    return [config.nodes - sum(rest), *rest]


def _check_room(config: SyntheticConfig) -> None:
    within, between = _edge_counts(config)
    room_within = sum(size * (size - 1) // 2 for size in class_sizes(config))
    room_between = config.nodes * (config.nodes - 1) // 2 - room_within
    if within > room_within or between > room_between:
        raise _no_room(config)


def _no_room(config: SyntheticConfig) -> InputError:
    return InputError(
        f"synthetic: degree={config.degree:g} at homophily={config.homophily:g} asks for nearly all "
        f"edges that {config.nodes} nodes in {config.classes} classes have room for, or more; "
        "give a smaller degree or more nodes"
    )


def _edge_counts(config: SyntheticConfig) -> tuple[int, int]:
    """Undirected edges within and between classes."""
    num_edges = round(config.nodes * config.degree / 2)
    within = round(num_edges * config.homophily)
    return within, num_edges - within


def _propensities(config: SyntheticConfig, class_of_slot: Tensor, rng: torch.Generator) -> Tensor:
    """How readily each slot takes an edge, mean 1 in every class."""
    sizes = class_of_slot.bincount()
    uniform = 1 - torch.rand(config.nodes, generator=rng, dtype=torch.float64)  # never 0
    propensity = _mean_one(uniform ** (-1 / (config.tail - 1)), class_of_slot, sizes)
    # Two hubs above this would expect more than the one edge that a simple graph has room for between them.
    cap = (sizes / config.degree).sqrt().clamp(min=1).double()
    return _mean_one(propensity.minimum(cap[class_of_slot]), class_of_slot, sizes)


def _mean_one(values: Tensor, class_of_slot: Tensor, sizes: Tensor) -> Tensor:
    sums = class_of_slot.bincount(weights=values)
    return values * (sizes / sums)[class_of_slot]


class _Ends:
    """Draws the two ends of edges, each slot in proportion to its propensity.

    Slots lie side by side on a line, as wide as their propensity, one class after another: a uniform point
    on the line is a slot, one on a class's stretch a slot of that class.
    """

    def __init__(self, class_of_slot: Tensor, propensity: Tensor) -> None:
        self.class_of_slot = class_of_slot
        self.right = propensity.cumsum(0)
        self.stops = self.right[class_of_slot.bincount().cumsum(0) - 1]  # where each class's stretch ends
        self.starts = F.pad(self.stops[:-1], (1, 0))
        self.widths = self.stops - self.starts

    def draw(self, count: int, is_within: bool, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        uniform = torch.rand(2, count, generator=rng, dtype=torch.float64)
        # Sorted, the sources are looked up faster than the sorting takes: their neighbors are in the cache.
        sources = self._slots(uniform[0].sort().values * self.stops[-1])
        cls = self.class_of_slot[sources]
        if is_within:
            points = self.starts[cls] + uniform[1] * self.widths[cls]
        else:
            points = uniform[1] * (self.stops[-1] - self.widths[cls])
            points += self.widths[cls] * (points >= self.starts[cls])  # steps over the class's own stretch
        return sources, self._slots(points)

    def _slots(self, points: Tensor) -> Tensor:
        # The product of a uniform number below 1 and the total may round up to the total.
        return torch.searchsorted(self.right, points, right=True).clamp_(max=len(self.right) - 1)


def _draw_edges(config: SyntheticConfig, ends: _Ends, node_of_slot: Tensor, rng: torch.Generator) -> Csr:
    within, between = _edge_counts(config)
    keys = torch.cat(
        [
            _distinct_edges(config, within, lambda count: ends.draw(count, True, rng)),
            _distinct_edges(config, between, lambda count: ends.draw(count, False, rng)),
        ]
    )
    sources, targets = keys // config.nodes, keys % config.nodes
    return undirected(node_of_slot[sources], node_of_slot[targets], config.nodes)


def _distinct_edges(
    config: SyntheticConfig, count: int, draw: Callable[[int], tuple[Tensor, Tensor]]
) -> Tensor:
    """Exactly `count` edges, each smaller slot * nodes + larger slot; what falls twice is drawn again."""
    keys = torch.empty(0, dtype=torch.long)
    for _ in range(MAX_ROUNDS):
        if len(keys) == count:
            return keys
        fresh = [_keys(*draw(size), config.nodes) for size in _batches(count - len(keys))]
        keys = distinct(torch.cat([keys, distinct(torch.cat(fresh))]))
    raise _no_room(config)


def _keys(sources: Tensor, targets: Tensor, num_nodes: int) -> Tensor:
    keys = torch.minimum(sources, targets) * num_nodes + torch.maximum(sources, targets)
    return keys[sources != targets]


def _batches(count: int) -> list[int]:
    """Sizes that add up to `count`: a batch's working memory is ten times its edges'."""
    return [min(BATCH, count - done) for done in range(0, count, BATCH)]


def _features(config: SyntheticConfig, y: Tensor, rng: torch.Generator) -> Csr | Dense:
    return _bag_of_words(config, y, rng) if config.words else _gaussian(config, y, rng)


def _gaussian(config: SyntheticConfig, y: Tensor, rng: torch.Generator) -> Dense:
    """Noise of deviation 1 around a class mean about `signal` away from the origin."""
    means = torch.randn(config.classes, config.features, generator=rng) * config.signal / config.features**0.5
    x = torch.randn(config.nodes, config.features, generator=rng)
    step = BATCH // config.features + 1
    for start in range(0, config.nodes, step):
        x[start : start + step] += means[y[start : start + step]]
    return Dense(x)


def _bag_of_words(config: SyntheticConfig, y: Tensor, rng: torch.Generator) -> Csr:
    """0/1 columns. A word is the node's own class's with odds of `signal` to 1, else any."""
    per_class = config.features // config.classes
    nodes = torch.arange(config.nodes).repeat_interleave(config.words)
    own = y[nodes] * per_class + torch.randint(per_class, nodes.shape, generator=rng)
    anyone = torch.randint(config.features, nodes.shape, generator=rng)
    is_own = torch.rand(nodes.shape, generator=rng) < config.signal / (1 + config.signal)
    keys = distinct(nodes * config.features + torch.where(is_own, own, anyone))
    return ones_at(keys, (config.nodes, config.features))
