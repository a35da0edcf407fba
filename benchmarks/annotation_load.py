"""Twenty people label one graph at once: how long an answer takes, and that none is lost.

    python -m benchmarks.annotation_load [--nodes 35000] [--annotators 20] [--rate 5] [--seconds 60]

A server in a process of its own, as `gcbr label` starts it; every person is a thread with a connection of
its own that takes a turn, thinks, and answers. Times are those a person waits: from sending an answer to
having the next node. In the end the project file is held against what was acknowledged.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from gcbr.annotate.store import LABEL, SECOND, Store

GCBR = Path(sys.executable).with_name("gcbr")


class Person(threading.Thread):
    """Answers at random moments, on average every `pause` seconds."""

    def __init__(self, name: str, base: str, token: str, pause: float, end: float) -> None:
        super().__init__(name=name)
        self.times: list[float] = []
        self.acknowledged: dict[str, int] = {}
        self.num_waits = 0  # turns for which no node was ready
        self.behind: list[int] = []
        self.failures: list[str] = []
        self._rng = random.Random(name)
        self._pause = pause
        self._end = end
        headers = {"Authorization": f"Bearer {token}", "X-Annotator": name}
        self._http = httpx.Client(base_url=base, headers=headers, timeout=30)

    def run(self) -> None:
        turn = self._http.get("/api/turn").json()
        for number in itertools.count():
            time.sleep(self._rng.uniform(0.5, 1.5) * self._pause)
            if time.monotonic() > self._end:
                self._http.close()
                return
            if turn["status"] != "ready":
                self.num_waits += 1
                turn = self._http.get("/api/turn").json()
                continue
            turn = self._answer(turn["node"], f"{self.name}-{number:05}")

    def _answer(self, node: dict[str, Any], request: str) -> dict[str, Any]:
        label = self._rng.choice(node["guesses"])["label"]
        began = time.perf_counter()
        reply = self._http.post(
            "/api/answers", json={"node": node["node"], "label": label, "request": request}
        )
        self.times.append(time.perf_counter() - began)
        if reply.status_code != 200:
            self.failures.append(f"{reply.status_code} {reply.text[:200]}")
            return dict(self._http.get("/api/turn").json())
        self.acknowledged[request] = int(node["node"])
        turn = dict(reply.json()["turn"])
        self.behind.append(turn["state"]["behind"])
        return turn


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=35_000)
    parser.add_argument("--annotators", type=int, default=20)
    parser.add_argument("--rate", type=float, default=5.0, help="answers a second, of all together")
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "load.gcbr"
        graph = f"synthetic:nodes={options.nodes},classes=5,degree=14,features=128,skew=6"
        command: list[str | Path] = [
            GCBR,
            "label",
            graph,
            "--project",
            project,
            "--budget",
            "5000",
            "--overlap",
            "0.1",
            "--no-browser",
        ]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            people = _label(server, options)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
        return _report(people, project, options)


def _label(server: subprocess.Popen[str], options: argparse.Namespace) -> list[Person]:
    assert server.stdout is not None
    base, _, token = server.stdout.readline().strip().partition("/?token=")
    headers = {"Authorization": f"Bearer {token}", "X-Annotator": "nobody"}
    while httpx.get(f"{base}/api/turn", headers=headers, timeout=60).json()["status"] != "ready":
        time.sleep(0.2)
    end = time.monotonic() + options.seconds
    pause = options.annotators / options.rate
    names = [f"person-{number:02}" for number in range(options.annotators)]
    people = [Person(name, base, token, pause, end) for name in names]
    for person in people:
        person.start()
    for person in people:
        person.join()
    return people


def _report(people: list[Person], project: Path, options: argparse.Namespace) -> int:
    times = 1000 * np.array([seconds for person in people for seconds in person.times])
    acknowledged = {request: node for person in people for request, node in person.acknowledged.items()}
    with Store(project) as store:
        kept = {row.request: row.node for row in store.answers()}
        labeled = [row.node for row in store.answers() if row.kind == LABEL]
        num_second = sum(row.kind == SECOND for row in store.answers())
    num_lost = sum(kept.get(request) != node for request, node in acknowledged.items())
    failures = [failure for person in people for failure in person.failures]
    behind = [number for person in people for number in person.behind]
    p50, p95, p99 = np.percentile(times, [50, 95, 99])
    print(
        f"{options.nodes:,} nodes, {options.annotators} people, {options.seconds:.0f} s; "
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(
        f"answers        {len(times)} ({len(times) / options.seconds:.1f} a second), "
        f"{num_second} second opinions"
    )
    print(f"an answer, ms  median {p50:.0f}, p95 {p95:.0f}, p99 {p99:.0f}, longest {times.max():.0f}")
    print(f"no node ready  {sum(person.num_waits for person in people)} times")
    print(f"choices behind median {np.median(behind):.0f} answers, at most {max(behind)}")
    print(f"lost {num_lost}, labeled twice {len(labeled) - len(set(labeled))}, refused {len(failures)}")
    for failure in failures[:5]:
        print(" ", failure)
    is_good = p99 < 200 and not num_lost and not failures and len(labeled) == len(set(labeled))
    print("p99 under 200 ms and nothing lost" if is_good else "NOT MET: p99 under 200 ms and nothing lost")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
