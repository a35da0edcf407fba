"""The process is killed at any moment, the disk is full: what was acknowledged is there, once."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from gcbr.annotate.project import Project
from gcbr.annotate.settings import Wishes
from gcbr.annotate.store import StorageError, Store
from gcbr.datasets import load_dataset

GCBR = Path(sys.executable).with_name("gcbr")
GRAPH = "synthetic:nodes=300,classes=3,features=8"
KILOBYTE = 1024


class Labeling:
    """`gcbr label` in a process of its own."""

    def __init__(self, project: Path, before: Callable[[], None] | None = None) -> None:
        command = [GCBR, "label", GRAPH, "--project", project, "--budget", "250", "--no-browser"]
        command += ["--strategy", "random"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before
        )
        assert self.process.stdout is not None
        base, _, token = self.process.stdout.readline().strip().partition("/?token=")
        headers = {"Authorization": f"Bearer {token}", "X-Annotator": "Ada"}
        self.http = httpx.Client(base_url=base, headers=headers, timeout=60)

    def answer(self, node: int) -> httpx.Response:
        body = {"node": node, "label": f"class {node % 3}", "request": f"answer-{node:04}"}
        return self.http.post("/api/answers", json=body)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        self.http.close()
        self.process.kill()
        self.process.communicate()


def answers_until_killed(project: Path, num_answers: int, rng: random.Random) -> tuple[list[int], int]:
    """The nodes whose answers were acknowledged, and the one that was under way."""
    labeling = Labeling(project)
    acknowledged: list[int] = []
    last = rng.randrange(1, num_answers)
    pause = rng.random() * 0.02  # so that it hits any stage of a request
    killer = threading.Thread(target=lambda: (time.sleep(pause), labeling.kill()))
    try:
        for node in range(num_answers):
            if node == last:
                killer.start()
            try:
                reply = labeling.answer(node)
            except httpx.TransportError:
                return acknowledged, node
            assert reply.status_code == 200
            acknowledged.append(node)
        return acknowledged, num_answers
    finally:
        killer.join()
        labeling.end()


def check_nothing_lost(tmp_path: Path, num_kills: int, num_answers: int) -> None:
    rng = random.Random(20)
    graph = load_dataset(GRAPH).graph
    for round_ in range(num_kills):
        path = tmp_path / f"round-{round_}.gcbr"
        acknowledged, under_way = answers_until_killed(path, num_answers, rng)
        with Store(path) as store:
            nodes = [row.node for row in store.answers()]
        assert len(nodes) == len(set(nodes)), "an answer is there twice"
        assert set(acknowledged) <= set(nodes), "an acknowledged answer is lost"
        assert set(nodes) <= {*acknowledged, under_way}
        # The page sends what was not acknowledged once more: still once.
        with Project.open(path, graph, Wishes()) as project:
            project.answer("Ada", under_way, f"class {under_way % 3}", f"answer-{under_way:04}")
            assert list(project.labels()) == [*acknowledged, under_way]


def test_killed_at_a_random_moment_no_answer_is_lost_or_doubled(tmp_path: Path) -> None:
    check_nothing_lost(tmp_path, num_kills=1, num_answers=60)


@pytest.mark.slow
def test_killed_twenty_times_in_two_hundred_answers_none_is_lost_or_doubled(tmp_path: Path) -> None:
    check_nothing_lost(tmp_path, num_kills=20, num_answers=200)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False
    ).returncode:
        pytest.skip("needs leave to mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def test_on_a_full_disk_nothing_is_lost_and_the_reason_is_said(
    tmp_path: Path, papers: Any, serve: Any
) -> None:
    with small_disk(tmp_path / "disk", "700k"):
        path = tmp_path / "disk" / "p.gcbr"
        with papers.open(path, budget=240) as project:
            served = serve(project)
            refused, acknowledged = None, []
            filler = tmp_path / "disk" / "filler"
            room = os.statvfs(tmp_path / "disk").f_bavail * 4 * KILOBYTE
            filler.write_bytes(b"x" * (room - 60 * KILOBYTE))
            for node in range(200):
                reply = served.post("/api/answers", node=node, label="theory", request=f"answer-{node:04}")
                if reply.status_code != 200:
                    refused = reply
                    break
                acknowledged.append(node)
            assert refused is not None
            assert acknowledged
            assert refused.status_code == 507
            assert "Nothing was saved: p.gcbr could not be written" in refused.json()["detail"]
            assert "disk is full" in refused.json()["detail"]
            assert list(project.labels()) == acknowledged
            filler.unlink()  # there is room again: the same request goes through
            node = len(acknowledged)
            again = served.post("/api/answers", node=node, label="theory", request=f"answer-{node:04}")
            assert again.status_code == 200
        with Store(path) as store:
            assert [row.node for row in store.answers()] == [*acknowledged, node]


def test_with_a_file_that_may_not_grow_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    """The same where no disk can be mounted: the file itself has a limit."""
    path, limit = tmp_path / "p.gcbr", 200 * KILOBYTE
    labeling = Labeling(path, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    acknowledged, refused = [], None
    try:
        for node in range(250):
            reply = labeling.answer(node)
            if reply.status_code != 200:
                refused = reply
                break
            acknowledged.append(node)
    finally:
        labeling.end()
    assert acknowledged
    assert refused is not None
    assert refused.status_code == 507
    assert "Nothing was saved" in refused.json()["detail"]
    with Store(path) as store:
        assert [row.node for row in store.answers()] == acknowledged


def test_a_disk_without_room_for_a_project_is_a_sentence(tmp_path: Path, papers: Any) -> None:
    with (
        small_disk(tmp_path / "disk", "8k"),
        pytest.raises((StorageError, ValueError), match=r"full|cannot be opened"),
    ):
        papers.open(tmp_path / "disk" / "p.gcbr")
