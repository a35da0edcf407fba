"""What a project was begun with: kept in its file, and held against what is asked for when it goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from gcbr.annotate.ledger import Ledger
from gcbr.annotate.store import Store
from gcbr.errors import InputError
from gcbr.graph import Graph, fingerprint
from gcbr.strategies import DEFAULT_STRATEGY

LABELS_PER_CLASS = 20  # of the budget, where classes are known
LABELS_AT_FIRST = 100  # of the budget, where they are not


class Settings(BaseModel):
    """What a project was begun with. Every answer records the strategy and seed of its time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    graph: str
    fingerprint: str
    strategy: str = DEFAULT_STRATEGY
    seed: int = 0
    budget: int
    classes: tuple[str, ...] = ()  # declared beforehand
    overlap: float = 0.0  # share of nodes given to a second person
    candidates: tuple[int, ...] | None = None  # None: every node may be asked


@dataclass(frozen=True)
class Wishes:
    """What the command line asks for; None leaves it as it is, or to the default."""

    strategy: str | None = None
    seed: int | None = None
    budget: int | None = None
    classes: tuple[str, ...] = ()
    overlap: float | None = None
    candidates: Sequence[int] | None = None
    labels: Mapping[int, str] | None = None


def settled(store: Store, graph: Graph, wishes: Wishes) -> Settings:
    """The settings of a new project, or those in the file with what is wished otherwise now."""
    stored = store.settings()
    mark = fingerprint(graph)
    if stored:
        try:
            settings = Settings.model_validate_json(stored["settings"])
        except (KeyError, ValidationError) as error:
            raise InputError(f"the settings in '{store.path}' are damaged; begin another project") from error
        if settings.fingerprint != mark:
            raise InputError(
                f"project '{store.path}' labels the graph '{settings.graph}' as it was when it began; "
                f"'{graph.name}' is another one or has changed since: open the same graph, "
                "or name another file with --project"
            )
        changed = {key: value for key, value in _wished(wishes).items() if value is not None}
        settings = settings.model_copy(update=changed)
    else:
        settings = _begun(graph, mark, wishes)
    _check(settings, graph, wishes.labels or {}, Ledger(store.answers()))
    save(store, settings)
    return settings


def _wished(wishes: Wishes) -> dict[str, object]:
    return {
        "strategy": wishes.strategy,
        "seed": wishes.seed,
        "budget": wishes.budget,
        "overlap": wishes.overlap,
        "classes": wishes.classes or None,
        "candidates": None if wishes.candidates is None else tuple(sorted(set(wishes.candidates))),
    }


def _begun(graph: Graph, mark: str, wishes: Wishes) -> Settings:
    given = len(wishes.labels or {})
    known = dict.fromkeys([*wishes.classes, *(wishes.labels or {}).values()])
    share = LABELS_PER_CLASS * len(known) if len(known) > 1 else LABELS_AT_FIRST
    most = _most(graph, wishes.candidates, set(wishes.labels or {}))
    settings = Settings(graph=graph.name, fingerprint=mark, budget=min(given + share, most))
    wished = {key: value for key, value in _wished(wishes).items() if value is not None}
    return settings.model_copy(update=wished)


def _check(settings: Settings, graph: Graph, labels: Mapping[int, str], ledger: Ledger) -> None:
    if len(set(settings.classes)) < len(settings.classes):
        raise InputError(f"classes are declared twice: {', '.join(settings.classes)}")
    if not 0 <= settings.overlap <= 1:
        raise InputError(f"the overlap is {settings.overlap}; it is a share, from 0 to 1")
    most = _most(graph, settings.candidates, set(labels) | set(ledger.standings))
    if not 1 <= settings.budget <= most:
        raise InputError(f"the budget is {settings.budget}; from 1 to {most} nodes can be labeled")


def _most(graph: Graph, candidates: Sequence[int] | None, closed: set[int]) -> int:
    """The largest budget that can be spent: labels of nodes that may not be asked count as well."""
    if candidates is None:
        return graph.num_nodes
    return len(closed.union(candidates))


def save(store: Store, settings: Settings) -> None:
    store.save_settings({"settings": settings.model_dump_json()})
