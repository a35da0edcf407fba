"""The program as a user meets it, in process except where the process itself is the point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from gcbr.cli import progress
from gcbr.cli.app import main
from gcbr.datasets import DATASETS, DatasetEntry
from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph
from gcbr.policies import shipped
from gcbr.simulation import run_simulation
from gcbr.strategies import STRATEGIES, StrategyEntry
from gcbr.view import View

GCBR = Path(sys.executable).with_name("gcbr")
TINY = ["run", "synthetic:nodes=60,classes=3,skew=2", "--budget", "6", "--final-epochs", "3"]


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


Ask = Callable[..., Answer]


@pytest.fixture
def gcbr(capsys: pytest.CaptureFixture[str]) -> Ask:
    """`gcbr("run", "--json")`: the exit code and both streams."""

    def ask(*argv: str | Path) -> Answer:
        code = main([str(word) for word in argv])
        return Answer(code, *capsys.readouterr())

    return ask


class Lowest:
    """Always the candidate of lowest id: a strategy for comparison with random."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        pass

    def select(self, view: View) -> int:
        return int(view.candidates[0])


@pytest.fixture
def lowest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STRATEGIES, "lowest", StrategyEntry(Lowest, "the candidate of lowest id"))


def assert_mistake(answer: Answer, *words: str) -> None:
    """Exit code 2, nothing printed, and one line that holds these words."""
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("gcbr: ")
    assert answer.err.count("\n") == 1
    for word in words:
        assert word in answer.err


def timeless(document: str) -> dict[str, object]:
    parsed = json.loads(document)
    for run in parsed["runs"]:
        del run["cost"]
    return parsed


# The program itself


def test_help_names_every_command(gcbr):
    answer = gcbr("--help")
    assert answer.code == 0
    for command in ("run", "strategies", "data"):
        assert command in answer.out


def test_no_arguments_ask_for_help(gcbr):
    assert gcbr() == gcbr("--help")


@pytest.mark.parametrize(
    "command",
    [
        ["run"],
        ["suggest"],
        ["classify"],
        ["strategies"],
        ["data", "list"],
        ["data", "info"],
        ["data", "fetch"],
    ],
)
def test_every_command_has_an_example(gcbr, command):
    assert f"Example: gcbr {' '.join(command)}" in gcbr(*command, "--help").out


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from gcbr.cli.app import main; main(['--help']); main(['run', '--help']);"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"torch", "numpy", "scipy", "sklearn", "matplotlib", "polars"}
    assert not heavy & set(done.stderr.split())


def test_version_is_the_packages(gcbr):
    answer = gcbr("--version")
    assert answer.code == 0
    assert answer.out.startswith("gcbr 0.")


def test_a_bug_is_not_dressed_up_as_a_mistake(monkeypatch):
    monkeypatch.setitem(DATASETS, "bug", DatasetEntry("Bug", "", lambda _: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        main(["run", "bug"])


def test_an_interruption_is_one_line(gcbr, monkeypatch):
    def interrupt(_: object) -> Dataset:
        raise KeyboardInterrupt

    monkeypatch.setitem(DATASETS, "slow", DatasetEntry("Slow", "", interrupt))
    assert gcbr("run", "slow") == Answer(130, "", "gcbr: interrupted\n")


def test_the_console_script_keeps_results_and_notes_apart():
    done = subprocess.run([GCBR, *TINY, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout)["settings"]["budget"] == 6
    assert (
        "small graph, split in proportion: 24 nodes to test, 12 to validate, 24 to choose from" in done.stderr
    )
    assert "\x1b" not in done.stdout + done.stderr


def test_the_console_script_ends_on_a_mistake_without_a_traceback():
    done = subprocess.run([GCBR, "run", "nowhere"], capture_output=True, text=True, check=False)
    assert_mistake(Answer(done.returncode, done.stdout, done.stderr), "nowhere")


def test_a_reader_that_leaves_early_is_no_error():
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [GCBR, "data", "list"], stdout=write_end, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write_end)
    assert done.stderr == ""


def test_letters_that_the_terminal_lacks_are_replaced():
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([GCBR, *TINY], capture_output=True, text=True, check=False, env=ascii_only)
    assert done.returncode == 0
    assert "Micro-F1" in done.stdout


# gcbr run


def test_run_shows_scores_and_classes(gcbr):
    answer = gcbr(*TINY, "--strategy", "random")
    assert answer.code == 0
    for word in ("Micro-F1", "Macro-F1", "Imbalance ratio", "class 2", "accuracy", "6 labels", "seed 0"):
        assert word in answer.out
    assert "difference" not in answer.out
    assert "one run" in answer.err


def test_run_without_a_graph_takes_the_embedded_one(gcbr):
    answer = gcbr("run", "--strategy", "random", "--budget", "10", "--final-epochs", "2")
    assert answer.code == 0
    assert "random on digits" in answer.out


def test_the_default_strategy_is_the_shipped_gcbr_plus(gcbr):
    assert "gcbr++ on synthetic" in gcbr(*TINY).out


@pytest.mark.usefixtures("lowest")
def test_the_table_agrees_with_the_document(gcbr):
    options = [*TINY, "--strategy", "lowest", "--runs", "3"]
    table, document = gcbr(*options).out, json.loads(gcbr(*options, "--json").out)
    lines = {line.split("  ")[0].strip(): line for line in table.splitlines()}
    for title, key, scale, decimals in (
        ("Micro-F1", "micro_f1", 100, 1),
        ("Macro-F1", "macro_f1", 100, 1),
        ("Imbalance ratio", "imbalance_ratio", 1, 2),
    ):
        for strategy in ("lowest", "random"):
            value = document["summary"][strategy][key]
            text = f"{scale * value['mean']:.{decimals}f} ± {scale * value['margin']:.{decimals}f}"
            assert text in lines[title]
        assert f"{scale * document['difference'][key]['mean']:+.{decimals}f} ± " in lines[title]
    for cls, counts in enumerate(zip(*(run["counts"] for run in document["runs"][:3]), strict=True)):
        assert f"{sum(counts) / 3:.1f}" in lines[f"class {cls}"]


@pytest.mark.usefixtures("lowest")
def test_the_document_holds_what_the_library_gives(gcbr):
    document = json.loads(gcbr(*TINY, "--strategy", "lowest", "--seed", "4", "--json").out)
    ours, random = document["runs"]
    assert (ours["strategy"], random["strategy"], ours["seed"], random["seed"]) == ("lowest", "random", 4, 4)
    assert ours["nodes"] == sorted(ours["nodes"])
    assert len(ours["nodes"]) == len(set(ours["nodes"])) == 6
    assert document["dataset"]["nodes"] == 60
    assert sum(cls["nodes"] for cls in document["dataset"]["classes"]) == 60


def test_the_same_seed_gives_the_same_document(gcbr):
    first, again, other = (timeless(gcbr(*TINY, "--seed", seed, "--json").out) for seed in ("5", "5", "6"))
    assert first == again
    assert first["runs"] != other["runs"]


def test_the_command_in_the_document_gives_it_again(gcbr):
    document = gcbr(*TINY, "--runs", "2", "--json").out
    command = json.loads(document)["command"].split()
    assert timeless(gcbr(*command[1:], "--json").out) == timeless(document)


def test_threads_are_one_unless_asked_for(gcbr):
    gcbr(*TINY, "--threads", "2")
    assert torch.get_num_threads() == 2
    gcbr(*TINY)
    assert torch.get_num_threads() == 1


def test_out_writes_a_report(gcbr, tmp_path):
    answer = gcbr(*TINY, "--json", "--out", tmp_path / "report")
    assert answer.code == 0
    assert "report.html" in answer.err
    assert sorted(os.listdir(tmp_path / "report")) == ["labels.csv", "report.html", "result.json"]
    assert (tmp_path / "report" / "result.json").read_text("utf-8") == answer.out
    chosen = [
        line.split(",")[1] for line in (tmp_path / "report" / "labels.csv").read_text().splitlines()[1:]
    ]
    assert [int(node) for node in chosen] == json.loads(answer.out)["runs"][0]["nodes"]


def test_progress_shows_the_balance_of_the_labels():
    assert progress.balance([8, 4, 0]) == "█▅▁ ratio 0.00"
    assert progress.balance([0, 0]) == "▁▁ ratio 0.00"
    assert progress.balance([4, 2]) == "█▅ ratio 0.50"


# Mistakes


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["run", "corra"], ["unknown dataset 'corra'", "cora", "digits"]),
        (["run", "--budget", "-3"], ["--budget", "'-3'", "greater than or equal to 1"]),
        (["run", "--budget", "0"], ["--budget", "'0'"]),
        (["run", "--budget", "many"], ["--budget", "'many'", "integer"]),
        (["run", "digits", "--budget", "285"], ["285", "284 nodes can be asked"]),
        (["run", "--strategy", "ranodm"], ["unknown strategy 'ranodm'", "'random'"]),
        (["run", "--features", "raw"], ["unknown feature rule 'raw'", "default", "paper"]),
        (["run", "digits", "--features", "paper"], ["digits", "'paper'", "'default'"]),
        (["run", "--seed", "-1"], ["--seed", "'-1'"]),
        (["run", "--runs", "0"], ["--runs", "'0'"]),
        (["run", "--bugdet", "3"], ["--bugdet", "--budget", "gcbr run --help"]),
        (["rnu"], ["rnu", "gcbr --help"]),
        (["data"], ["gcbr data --help"]),
        (["data", "info", "corra"], ["unknown dataset 'corra'"]),
        (["data", "fetch", "digits", "corra"], ["unknown dataset 'corra'"]),
    ],
)
def test_a_mistake_is_one_line_that_says_what_would_work(gcbr, argv, words):
    assert_mistake(gcbr(*argv), *words)


def test_a_corrupt_file_is_named(gcbr, tmp_path):
    for file in DATASETS["cora"].files:
        path = tmp_path / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"not what was published")
    assert_mistake(gcbr("run", "cora", "--data", tmp_path), "ind.cora.", "not the published file", "SHA-256")


def triangle(*, y: tuple[int, ...] = (0, 1, 0, 1, 0, 1), edges: bool = True, feature: float = 1.0) -> Dataset:
    """Six nodes, three of them joined in a triangle."""
    ends = (
        torch.tensor([[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]])
        if edges
        else torch.empty(2, 0, dtype=torch.long)
    )
    adjacency = Csr.from_entries(ends[0], ends[1], torch.ones(ends.shape[1]), (6, 6))
    x = torch.eye(6)
    x[3, 3] = feature
    names = tuple(f"c{cls}" for cls in range(max(y) + 1))
    return Dataset(Graph("triangle", adjacency, Dense(x)), torch.tensor(y), names, test=torch.tensor([4, 5]))


BAD_GRAPHS = [
    (triangle(y=(0,) * 6), "graph 'triangle' has one class"),
    (triangle(edges=False), "graph 'triangle' has no edges"),
    (triangle(feature=float("nan")), "triangle"),
    (triangle(feature=float("inf")), "triangle"),
]


@pytest.mark.parametrize(("dataset", "words"), BAD_GRAPHS)
def test_a_graph_that_cannot_be_used_is_told_by_the_program(gcbr, monkeypatch, dataset, words):
    monkeypatch.setitem(DATASETS, "triangle", DatasetEntry("Triangle", "", lambda _: dataset))
    assert_mistake(gcbr("run", "triangle", "--budget", "2"), words)


@pytest.mark.parametrize(("dataset", "words"), BAD_GRAPHS)
def test_a_graph_that_cannot_be_used_is_told_by_the_library(dataset, words):
    with pytest.raises(InputError, match=words):
        run_simulation(dataset, "random", budget=2)


def test_nodes_with_broken_features_are_counted():
    with pytest.raises(InputError, match=r"not numbers .* in 1 of its 6 nodes"):
        run_simulation(triangle(feature=float("nan")), "random", budget=2)


def unreachable(_: object) -> Dataset:
    raise AssertionError("the mistake could be seen before the dataset was loaded")


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_report_that_cannot_be_written_is_told_before_the_work(gcbr, monkeypatch, tmp_path, place):
    monkeypatch.setitem(DATASETS, "digits", replace(DATASETS["digits"], load=unreachable))
    (tmp_path / "file").touch()
    assert_mistake(gcbr("run", "--out", tmp_path / place), str(tmp_path / place), "give a folder")


def test_a_report_without_matplotlib_is_told_before_the_work(gcbr, monkeypatch, tmp_path):
    monkeypatch.setitem(DATASETS, "digits", replace(DATASETS["digits"], load=unreachable))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert_mistake(gcbr("run", "--out", tmp_path), "pip install 'gcbr[plot]'")


# gcbr strategies, gcbr data


def test_strategies_are_listed(gcbr):
    assert "random" in gcbr("strategies").out
    lines = json.loads(gcbr("strategies", "--json").out)
    assert [line["name"] for line in lines] == list(STRATEGIES)


def test_policies_that_ship_and_those_in_files_are_listed(gcbr):
    assert "gcbr++-default" in gcbr("policies").out
    files = [shipped()[name] for name in ("gpa-paper", "gpa-default")]
    cards = json.loads(gcbr("policies", *files, "--json").out)
    assert [card["features"] for card in cards.values()] == ["paper", "default"]
    assert list(cards) == [str(file) for file in files]


def test_policies_are_joined_into_one_that_is_used_like_any_other(gcbr, tmp_path):
    members = []
    for seed in ("1", "2"):
        members.append(tmp_path / f"{seed}.safetensors")
        options = ("--method", "gcbr", "--episodes", "2", "--parallel", "1", "--seed", seed)
        gcbr("train", "digits", *options, "--out", members[-1])
    both = tmp_path / "both.safetensors"
    assert " 1, 2 " in gcbr("policies", *members, "--join", both).out
    answer = gcbr("run", "digits", "--strategy", both, "--budget", "12", "--json")
    assert answer.code == 0
    assert_mistake(gcbr("policies", members[0], "--join", tmp_path / "one.safetensors"), "two members")


def test_datasets_are_listed_with_their_files(gcbr, tmp_path):
    first, *_ = DATASETS["cora"].files
    (tmp_path / first.path).parent.mkdir(parents=True)
    (tmp_path / first.path).touch()
    lines = {line.split(" ")[0]: line for line in gcbr("data", "list", "--data", tmp_path).out.splitlines()}
    assert set(DATASETS) <= set(lines)
    assert lines["cora"].rstrip().endswith("1 of 8 here")
    assert lines["pubmed"].rstrip().endswith("to download")
    assert lines["digits"].rstrip().endswith("none needed")


def test_a_dataset_is_described(gcbr, monkeypatch):
    monkeypatch.setitem(DATASETS, "triangle", DatasetEntry("Triangle", "", lambda _: triangle()))
    facts = json.loads(gcbr("data", "info", "triangle", "--json").out)
    assert facts == {
        "name": "triangle",
        "nodes": 6,
        "edges": 3,
        "features": 6,
        "components": 4,
        "isolated nodes": 3,
        "mean degree": 1.0,
        "largest degree": 2,
        "test nodes": 2,
        "class skew": 1.0,
        "classes": {"c0": 3, "c1": 3},
    }
    table = gcbr("data", "info", "triangle").out
    assert "isolated nodes  3" in table
    assert "50.0%" in table


def test_fetching_what_is_here_says_where(gcbr, data_dir):
    answer = gcbr("data", "fetch", "digits", "cora", "--data", data_dir)
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "digits: needs no files",
        f"cora: 8 files in {data_dir / 'Cora' / 'raw'}",
    ]
