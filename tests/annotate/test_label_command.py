"""`gcbr label` as it is called."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from gcbr.annotate.store import Store
from gcbr.cli import label as command
from gcbr.cli.app import main

GCBR = Path(sys.executable).with_name("gcbr")


def start(*words: str | Path, cwd: Path) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [GCBR, "label", *words, "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def stop(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    return said


def test_it_prints_a_link_labels_and_goes_on(papers: Any, tmp_path: Path) -> None:
    known = tmp_path / "known.csv"
    with known.open("w", newline="") as file:
        csv.writer(file).writerows([["node", "label"], ["paper-007", "theory"], ["paper-009", "vision"]])
    words = (papers.folder, "--labels", known, "--classes", "theory,vision,networks", "--budget", "12")
    process, link = start(*words, cwd=tmp_path)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", link)
    base, _, token = link.partition("/?token=")
    headers = {"Authorization": f"Bearer {token}", "X-Annotator": "Ada"}
    with httpx.Client(base_url=base, headers=headers, timeout=60) as http:
        state = http.get("/api/state").json()
        assert (state["labels"], state["budget"], state["graph"]) == (2, 12, "papers")
        body = {"node": 0, "label": "networks", "request": "request-1"}
        assert http.post("/api/answers", json=body).status_code == 200
    second = subprocess.run([GCBR, "label", *words], capture_output=True, text=True, cwd=tmp_path)
    assert second.returncode == 2
    assert "project 'papers.gcbr' is open in another process" in second.stderr
    assert len(second.stderr.strip().splitlines()[-1:]) == 1
    said = stop(process)
    assert "Traceback" not in said
    assert "papers.gcbr: 2 of 12 labels, chosen by gcbr++" in said
    process, _ = start(papers.folder, cwd=tmp_path)  # no options: it goes on with what it was begun with
    assert "papers.gcbr: 3 of 12 labels" in stop(process)
    with Store(tmp_path / "papers.gcbr") as store:
        assert [(row.node, row.kind, row.annotator) for row in store.answers()] == [
            (7, "given", ""),
            (9, "given", ""),
            (0, "label", "Ada"),
        ]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--strategy", "agee"], "unknown strategy 'agee'"),
        (["--budget", "9999"], "the budget is 9999; from 1 to 240"),
        (["--labels", "missing.csv"], "no file 'missing.csv'"),
        (["--classes", "a,b,a"], "classes are declared twice"),
        (["--host", "0.0.0.0"], "--host 0.0.0.0 opens the page to other machines, and that needs a password"),
        (["--host", "203.0.113.9"], "needs a password"),
        (["--project", "nowhere/p.gcbr"], "no folder 'nowhere'"),
        (["--overlap", "2"], "overlap"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(
    papers: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    words: list[str],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GCBR_PASSWORD", raising=False)
    assert main(["label", str(papers.folder), "--no-browser", *words]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("gcbr:")]
    assert len(lines) == 1
    assert complaint in lines[0]


def test_a_port_that_is_taken_is_told(
    papers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    import socket

    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["label", str(papers.folder), "--port", port, "--no-browser"]) == 2
    assert f"cannot listen on 127.0.0.1, port {port}" in capsys.readouterr().err


def test_a_missing_extra_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(command, "NEEDED", ("fastapi", "no_such_package"))
    assert main(["label", "digits"]) == 2
    assert (
        "gcbr label needs no_such_package; install them with: pip install 'gcbr[web]'"
        in capsys.readouterr().err
    )


def test_a_graphs_name_becomes_a_files_name() -> None:
    assert command._file_name("synthetic:nodes=10,seed=3") == "synthetic-nodes-10-seed-3"
    assert command._file_name("../..") == "graph"


def test_the_terminal_is_free_again_within_seconds(tmp_path: Path) -> None:
    process, _ = start("synthetic:nodes=300,classes=3", cwd=tmp_path)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert time.monotonic() - began < 20
    assert os.path.exists(tmp_path / "synthetic-nodes-300-classes-3.gcbr")
