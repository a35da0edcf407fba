"""Jobs in several processes, one thread each, that end with the process that started them."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import torch
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor

from gcbr.engine.memory import keep_freed_memory

Job = TypeVar("Job")
Result = TypeVar("Result")


def work_off(work: Callable[[Job], Result], jobs: Iterable[Job], workers: int) -> Generator[Result]:
    """The result of each job, in the order in which they are done; closing it early stops the workers.

    No job is asked for before a worker is free to take it.
    """
    if workers == 1:
        _compute_alone()
        yield from map(work, jobs)
        return
    # Whoever stops early knows that he did.
    warnings.filterwarnings("ignore", message=".*adjusting the input task iterator", category=UserWarning)
    try:
        with parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch=workers)
            tasks = (delayed(_in_worker)(work, job, os.getpid()) for job in jobs)
            with _interrupts_ignored():
                results = parallel(tasks)  # starts the workers
            yield from results
    except BaseException:
        # Not waiting: a job may take minutes, and it begins anew next time.
        get_reusable_executor().shutdown(wait=False, kill_workers=True)
        raise


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


def _in_worker(work: Callable[[Job], Result], job: Job, parent: int) -> Result:
    _become_worker(parent)
    return work(job)


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
