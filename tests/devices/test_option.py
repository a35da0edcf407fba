"""`--device`, in every command that computes."""

from __future__ import annotations

import json

import pytest
import torch

from gcbr.cli.app import main
from gcbr.cli.devices import find_device
from gcbr.errors import InputError

SMALL = "synthetic:nodes=60,classes=3,skew=2"


@pytest.fixture
def commands(tmp_path):
    """Every command that computes, as short as it can be."""
    labels = tmp_path / "labels.csv"
    labels.write_text("node,label\n" + "".join(f"{node},{node % 2}\n" for node in range(8)))
    return {
        "run": ["run", SMALL, "--budget", "4", "--final-epochs", "1", "--json"],
        "train": [
            "train",
            SMALL,
            "--episodes",
            "1",
            "--budget",
            "3",
            "--out",
            str(tmp_path / "p.safetensors"),
        ],
        "suggest": ["suggest", SMALL, "--labels", str(labels), "-n", "1"],
        "classify": ["classify", SMALL, "--labels", str(labels), "--epochs", "1"],
        "label": ["label", SMALL, "--no-browser", "--project", str(tmp_path / "project.gcbr")],
    }


@pytest.mark.parametrize("command", ["run", "train", "suggest", "classify", "label"])
def test_a_device_that_is_not_there_is_a_mistake_in_one_line(command, commands, capsys):
    assert main([*commands[command], "--device", "abacus"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert "'abacus'" in line
    assert "cpu" in line


def test_it_is_the_cpu_unless_asked_for(commands, capsys):
    assert main(commands["run"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["settings"]["device"] == "cpu"
    assert document["command"].endswith("--device cpu")


@pytest.fixture
def promised_gpus(monkeypatch):
    """PyTorch says that there are two, which is not so."""
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.mark.usefixtures("promised_gpus")
def test_gpus_are_offered_where_there_are_some():
    assert find_device("cuda") == torch.device("cuda")
    assert find_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(InputError, match=r"'cuda:2' on this machine; choose from cpu, cuda, cuda:0, cuda:1$"):
        find_device("cuda:2")


@pytest.mark.usefixtures("promised_gpus")
@pytest.mark.parametrize("command", ["run", "train", "suggest", "classify"])
def test_the_graph_is_taken_to_the_device(command, commands):
    with pytest.raises((AssertionError, RuntimeError), match=r"CUDA|NVIDIA"):
        main([*commands[command], "--device", "cuda"])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("command", ["run", "train", "suggest", "classify"])
def test_on_a_real_gpu(command, commands):
    torch.cuda.reset_peak_memory_stats()
    assert main([*commands[command], "--device", "cuda"]) == 0
    assert torch.cuda.max_memory_allocated() > 0
