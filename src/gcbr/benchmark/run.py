"""Does the runs of a plan, several at a time, and records each as soon as it is done.

The process that was started writes every record, never a worker: if it is killed, what its workers are
still at is lost and nothing else, and starting again does no run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path

from gcbr import seeding
from gcbr.benchmark.records import Origin, Record, Run, as_record, missing
from gcbr.benchmark.store import Claims, Store
from gcbr.benchmark.workers import work_off
from gcbr.classifier import GCNClassifier, find_classifier
from gcbr.datasets import load_dataset
from gcbr.graph import Dataset
from gcbr.simulation import SimulationResult, run_simulations
from gcbr.splits import stratified_test
from gcbr.strategies import STRATEGIES
from gcbr.strategies.learned import from_file
from gcbr.versions import commit, versions

_TEST_SET = 1000  # address of its generator under a run's seed, where no learner has one

Policies = Mapping[tuple[str, str], Path]  # by strategy and fingerprint


def execute(
    runs: Sequence[Run],
    store: Store,
    *,
    workers: int = 1,
    data_dir: Path | None = None,
    policies: Policies | None = None,
    on_done: Callable[[Record], None] | None = None,
) -> list[Run]:
    """Do the runs, one thread each, and append a record of each to the store; `on_done` hears of it.

    `policies` are files for strategies that stand in no table. Several processes may share the work: this
    gives the runs that another one is still at. An interruption or an error stops the workers.
    """
    origin = Origin(versions(), commit())
    files = dict(policies or {})
    simulate = partial(_simulate, data_dir=data_dir, policies=files)
    left = list(runs)
    with Claims(store.folder / ".claims") as claims:
        while True:
            elsewhere: list[Run] = []
            is_idle = True
            free = _free(labelings(left, files), store, claims, elsewhere)
            with closing(work_off(simulate, free, workers)) as results:
                for run, result in chain.from_iterable(results):
                    record = as_record(run, result, origin)
                    store.append(record)
                    is_idle = False
                    if on_done is not None:
                        on_done(record)
            # Once more for those of a process that was killed meanwhile.
            left = missing(elsewhere, store.read())
            if is_idle:
                return left


def labelings(runs: Iterable[Run], policies: Policies) -> list[list[Run]]:
    """Runs that differ in their budget alone, by a strategy that does not look at it, are one labeling."""
    grouped: dict[Run, list[Run]] = {}
    for run in runs:
        # What a policy of one's own looks at is not known, whatever it is called.
        is_own = run.strategy not in STRATEGIES or (run.strategy, run.fingerprint) in policies
        is_alone = is_own or STRATEGIES[run.strategy].looks_at_budget
        grouped.setdefault(run if is_alone else replace(run, budget=0), []).append(run)
    return [sorted(group, key=lambda run: run.budget) for group in grouped.values()]


def _free(
    every: Iterable[list[Run]], store: Store, claims: Claims, elsewhere: list[Run]
) -> Iterator[list[Run]]:
    """The labelings that nobody has done or is at; runs that somebody is at go into `elsewhere`."""
    for labeling in every:
        claimed = [run for run in labeling if claims.take(run)]
        elsewhere.extend(run for run in labeling if run not in claimed)
        # After claiming: until then another process may have recorded them.
        if free := missing(claimed, store.read()):
            yield free


def _simulate(
    labeling: Sequence[Run], data_dir: Path | None, policies: Policies
) -> list[tuple[Run, SimulationResult]]:
    run = labeling[0]
    dataset = _dataset(run.dataset, run.features, data_dir)
    if run.test == "stratified":
        drawn = stratified_test(dataset, seeding.generator(run.seed, _TEST_SET))
        dataset = replace(dataset, test=drawn)
    file = policies.get((run.strategy, run.fingerprint))
    results = run_simulations(
        dataset,
        run.strategy,
        budgets=[each.budget for each in labeling],
        seed=run.seed,
        final_epochs=run.final_epochs,
        classifier=partial(GCNClassifier, config=find_classifier(run.classifier)),
        factory=None if file is None else from_file(file),
    )
    return list(zip(labeling, results, strict=True))


# Runs come one seed after another, so that every dataset of a plan is needed again and again.
@lru_cache(maxsize=10)
def _dataset(name: str, features: str, data_dir: Path | None) -> Dataset:
    return load_dataset(name, data_dir=data_dir, features=features)
