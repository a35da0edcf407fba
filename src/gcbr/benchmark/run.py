"""Does the runs of a plan, several at a time, and records each as soon as it is done.

The process that was started writes every record, never a worker: if it is killed, what its workers are
still at is lost and nothing else, and starting again does no run twice.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path

import torch
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor

from gcbr.benchmark.plan import Run
from gcbr.benchmark.records import Origin, Record, append, as_record
from gcbr.datasets import load_dataset
from gcbr.engine.memory import keep_freed_memory
from gcbr.graph import Dataset
from gcbr.simulation import SimulationResult, run_simulation
from gcbr.strategies.learned import from_file
from gcbr.versions import commit, versions


def execute(
    runs: Sequence[Run],
    records: Path,
    *,
    workers: int = 1,
    data_dir: Path | None = None,
    policies: Mapping[str, str] | None = None,
    on_done: Callable[[Record], None] | None = None,
) -> None:
    """Do the runs, one thread each, and append a line to `records` for each; `on_done` hears of it.

    `policies` are files for strategies that stand in no table. An interruption or an error stops the workers.
    """
    origin = Origin(versions(), commit())
    results = _results(runs, workers, data_dir, dict(policies or {}))
    try:
        for run, result in results:
            record = as_record(run, result, origin)
            append(records, record)
            if on_done is not None:
                on_done(record)
    except BaseException:
        if workers > 1:
            # Not waiting: a run may take minutes, and it begins anew next time.
            get_reusable_executor().shutdown(wait=False, kill_workers=True)
        raise


def _results(
    runs: Sequence[Run], workers: int, data_dir: Path | None, policies: dict[str, str]
) -> Iterator[tuple[Run, SimulationResult]]:
    """Each run with its result, in the order in which they are done."""
    if workers == 1:
        _compute_alone()
        yield from (_simulate(run, data_dir, policies) for run in runs)
        return
    with parallel_config(backend="loky", inner_max_num_threads=1):
        # No run is handed out before a worker is free: what is killed loses no more than is under way.
        parallel = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch=workers)
        tasks = (delayed(_in_worker)(run, data_dir, policies, os.getpid()) for run in runs)
        with _interrupts_ignored():
            results = parallel(tasks)  # starts the workers
        yield from results


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ctrl-C reaches all processes of a terminal; workers started meanwhile leave it to their parent."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what becomes of signals
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _in_worker(
    run: Run, data_dir: Path | None, policies: dict[str, str], parent: int
) -> tuple[Run, SimulationResult]:
    _become_worker(parent)
    return _simulate(run, data_dir, policies)


def _simulate(run: Run, data_dir: Path | None, policies: dict[str, str]) -> tuple[Run, SimulationResult]:
    return run, run_simulation(
        _dataset(run.dataset, run.features, data_dir),
        run.strategy,
        budget=run.budget,
        seed=run.seed,
        final_epochs=run.final_epochs,
        factory=from_file(Path(policies[run.strategy])) if run.strategy in policies else None,
    )


# Runs come one dataset after another, so the last one is the next one.
@lru_cache(maxsize=1)
def _dataset(name: str, features: str, data_dir: Path | None) -> Dataset:
    return load_dataset(name, data_dir=data_dir, features=features)


@cache
def _become_worker(parent: int) -> None:
    """What a worker process needs once."""
    _compute_alone()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # those started later, in place of one that was lost
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _compute_alone() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()


def _leave_with(parent: int) -> None:
    """End this process when its parent is gone: killed outright, it could not tell its workers."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
