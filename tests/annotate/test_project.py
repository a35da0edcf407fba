"""One labeling: who gets which node, what an answer does, and that it goes on where it was left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gcbr.annotate.project import NotFound, Project, Refused, checked_name
from gcbr.annotate.settings import Wishes
from gcbr.datasets import SyntheticConfig, synthetic
from gcbr.errors import InputError
from gcbr.learner import ActiveLearner

Turn = Callable[[Project, str], Any]


def label(project: Project, papers: Any, turn: Any, who: str = "Ada", request: str | None = None) -> int:
    """Answer a turn with the truth."""
    node: int = turn.node
    project.answer(who, node, papers.truth[node], request or f"{who}-{node}")
    return node


def test_the_nodes_offered_are_those_a_learner_asks(
    papers: Any, project: Project, turn_of: Turn, until: Any
) -> None:
    learner = ActiveLearner(papers.file.graph, "gcbr++", budget=60, seed=0, classes=papers.classes)
    for _ in range(6):
        until(lambda: project.num_behind() == 0 and project.snapshot.is_ready)
        turn = turn_of(project, "Ada")
        assert turn.node == learner.ask()[0]
        learner.tell(turn.node, papers.truth[turn.node])
        label(project, papers, turn)


def test_a_node_says_why_it_was_chosen(project: Project, turn_of: Turn, until: Any) -> None:
    turn = until(lambda: (turn := turn_of(project, "Ada")).explanation and turn)
    assert turn.explanation.node == turn.node
    assert "central" in turn.explanation.sentence  # the only thing known at first
    assert len(turn.explanation.columns) == 6


def test_no_two_people_get_the_same_node(project: Project, turn_of: Turn) -> None:
    names = [f"person {number}" for number in range(8)]
    nodes = [turn_of(project, name).node for name in names]
    assert len(set(nodes)) == 8
    assert [turn_of(project, name).node for name in names] == nodes  # asking again changes nothing


def test_a_node_left_lying_goes_to_somebody_else(papers: Any, tmp_path: Path, turn_of: Turn) -> None:
    now = [0.0]
    with Project.open(
        tmp_path / "p.gcbr",
        papers.file.graph,
        Wishes(classes=papers.classes, budget=60),
        clock=lambda: now[0],
        lease_seconds=10,
    ) as project:
        left = turn_of(project, "Ada").node
        assert turn_of(project, "Bob").node != left
        now[0] = 5
        project.renew("Bob")
        now[0] = 11
        assert turn_of(project, "Cleo").node == left
        # Ada comes back and answers all the same: nothing is lost, it is an opinion of the node.
        project.answer("Cleo", left, "theory", "cleo-1")
        assert project.answer("Ada", left, "vision", "ada-1").kind == "second"
        assert project.standing(left).opinions == {"Cleo": "theory", "Ada": "vision"}
        assert project.standing(left).label == "theory"


def test_the_same_request_twice_is_one_answer(papers: Any, project: Project, turn_of: Turn) -> None:
    turn = turn_of(project, "Ada")
    first = project.answer("Ada", turn.node, "theory", "request-1")
    assert project.answer("Ada", turn.node, "theory", "request-1") == first
    assert project.num_labels() == 1
    with pytest.raises(Refused, match="used for another answer"):
        project.answer("Ada", turn.node + 1, "theory", "request-1")
    with pytest.raises(Refused, match="used for another answer"):
        project.answer("Bob", turn.node, "theory", "request-1")


def test_undo_skip_correct_and_withdraw(papers: Any, project: Project, turn_of: Turn) -> None:
    first = turn_of(project, "Ada").node
    project.answer("Ada", first, "theory", "r1")
    second = turn_of(project, "Ada").node
    project.skip("Ada", second, "r2")
    assert project.num_skips() == 1
    undone = project.undo("Ada", "r3")
    assert (undone.kind, undone.node, project.num_skips()) == ("undo", second, 0)
    assert turn_of(project, "Ada").node == second  # it is in her hands again
    project.undo("Ada", "r4")
    assert project.labels() == {}
    with pytest.raises(Refused, match="nothing of yours to undo"):
        project.undo("Ada", "r5")
    project.answer("Ada", first, "theory", "r6")
    project.correct("Bob", first, "vision", "r7")
    assert project.labels() == {first: "vision"}
    with pytest.raises(Refused, match="changed by somebody else"):
        project.undo("Ada", "r8")
    project.undo("Bob", "r9")
    assert project.labels() == {first: "theory"}
    project.withdraw("Bob", first, "r10")
    assert project.labels() == {}


def test_what_makes_no_sense_is_refused_with_a_reason(papers: Any, project: Project, turn_of: Turn) -> None:
    node = turn_of(project, "Ada").node
    with pytest.raises(Refused, match="no class 'robotics'; add it as a new one"):
        project.answer("Ada", node, "robotics", "r1")
    with pytest.raises(NotFound, match="no node 240; nodes go from 0 to 239"):
        project.answer("Ada", 240, "theory", "r2")
    with pytest.raises(Refused, match="no label to correct"):
        project.correct("Ada", node, "theory", "r3")
    with pytest.raises(Refused, match="neither a label nor a skip"):
        project.withdraw("Ada", node, "r4")
    project.answer("Ada", node, "theory", "r5")
    with pytest.raises(Refused, match=r"labeled .* already"):
        project.answer("Ada", node, "vision", "r6")
    with pytest.raises(Refused, match="answered or skipped already"):
        project.skip("Ada", node, "r7")
    for name in ("", "  ", "x" * 101, "a\nb\x00"):
        with pytest.raises(InputError, match="A class is a name"):
            project.answer("Ada", node, name, "r8", is_new=True)
    with pytest.raises(InputError, match="A name has 1 to 60 characters"):
        checked_name(" ")
    assert project.num_labels() == 1


def test_a_new_class_is_known_from_its_first_label_on(
    papers: Any, project: Project, turn_of: Turn, until: Any
) -> None:
    project.answer("Ada", turn_of(project, "Ada").node, "  robot   arms ", "r1", is_new=True)
    assert project.class_names() == (*papers.classes, "robot arms")
    assert [count.target for count in project.class_counts()] == [12.0] * 5  # 60 over five classes now
    until(lambda: project.snapshot.class_names == (*papers.classes, "robot arms"))
    project.undo("Ada", "r2")
    assert project.class_names() == papers.classes


def test_nodes_given_twice_show_agreement_and_disputes(papers: Any, tmp_path: Path, turn_of: Turn) -> None:
    with papers.open(tmp_path / "p.gcbr", overlap=1.0) as project:
        nodes = [label(project, papers, turn_of(project, "Ada")) for _ in range(4)]
        turns = []
        for rank in range(4):
            turn = turn_of(project, "Bob")
            assert turn.is_second
            turns.append(turn.node)
            if rank == 3:
                project.skip("Bob", turn.node, "pass")  # he has no opinion of this one
            else:
                project.answer(
                    "Bob", turn.node, "theory" if rank == 0 else papers.truth[turn.node], f"b{rank}"
                )
        assert sorted(turns) == sorted(nodes)
        assert not turn_of(project, "Bob").is_second
        agreement = project.agreement()
        is_right = papers.truth[turns[0]] == "theory"
        assert (agreement.num_nodes, agreement.num_agreed) == (3, 3 if is_right else 2)
        if not is_right:
            assert [dispute.node for dispute in agreement.disputes] == [turns[0]]
            project.correct("Cleo", turns[0], "theory", "c1")
            assert project.agreement().disputes == ()
            assert project.agreement().num_agreed == 2  # they differed, whatever was decided later
        assert project.num_labels() == 4
        assert project.num_skips() == 0


def test_overlap_gives_about_its_share_twice_and_always_the_same(papers: Any, tmp_path: Path) -> None:
    with papers.open(tmp_path / "p.gcbr", overlap=0.25) as project:
        doubled = [node for node in range(240) if project._desk.is_doubled(node)]
    assert 40 <= len(doubled) <= 80  # 60 expected, 7 the standard deviation
    with papers.open(tmp_path / "p.gcbr") as project:
        assert [node for node in range(240) if project._desk.is_doubled(node)] == doubled


def test_the_budget_ends_it_and_can_be_raised(papers: Any, tmp_path: Path, turn_of: Turn) -> None:
    with papers.open(tmp_path / "p.gcbr", budget=3) as project:
        held = turn_of(project, "Bob")
        for _ in range(2):
            label(project, papers, turn_of(project, "Ada"))
        assert turn_of(project, "Ada").state == "waiting"  # the third is in Bob's hands
        label(project, papers, held, "Bob")
        assert turn_of(project, "Ada").state == turn_of(project, "Bob").state == "finished"
        assert project.extend(20) == 23
        assert turn_of(project, "Ada").state == "ready"


def test_a_graph_labeled_to_the_end_is_finished(make_papers: Any, tmp_path: Path, turn_of: Turn) -> None:
    few = make_papers(num_papers=6)
    with few.open(tmp_path / "p.gcbr", budget=6) as project:
        for rank in range(6):
            turn = turn_of(project, "Ada")
            if rank:
                label(project, few, turn)
            else:
                project.skip("Ada", turn.node, "skip")
        assert turn_of(project, "Ada").state == "finished"
        assert project.num_labels() == 5
        with pytest.raises(Refused, match="there are no more to ask"):
            project.extend(20)


def test_candidates_alone_are_asked(papers: Any, tmp_path: Path, turn_of: Turn) -> None:
    with papers.open(tmp_path / "p.gcbr", candidates=[10, 20, 30], labels={5: "vision"}, budget=4) as project:
        assert {label(project, papers, turn_of(project, "Ada")) for _ in range(3)} == {10, 20, 30}
        assert turn_of(project, "Ada").state == "finished"
        with pytest.raises(Refused, match="is no candidate"):
            project.skip("Ada", 6, "r1")


def test_it_goes_on_where_it_was_left(papers: Any, tmp_path: Path, turn_of: Turn, until: Any) -> None:
    path = tmp_path / "p.gcbr"
    with papers.open(path, labels={0: "networks", 1: "vision"}, strategy="age", seed=3) as project:
        assert project.num_labels() == 2
        answered = [label(project, papers, turn_of(project, "Ada")) for _ in range(5)]
        project.skip("Ada", turn_of(project, "Ada").node, "skip")
        until(lambda: project.num_behind() == 0)
        labels, queue = project.labels(), [one.node for one in project.snapshot.queue]
        moments = project.moments
    with Project.open(path, papers.file.graph, Wishes(labels={0: "theory", 1: "theory"})) as project:
        until(lambda: project.snapshot.is_ready)
        assert project.labels() == labels
        assert list(project.labels())[2:] == answered
        assert project.num_skips() == 1
        assert (project.settings.strategy, project.settings.seed, project.settings.budget) == ("age", 3, 60)
        assert [one.node for one in project.snapshot.queue][:5] == queue[:5]
        assert list(project.moments)[: len(moments)] == list(moments)


def test_wishes_change_what_can_be_changed(papers: Any, tmp_path: Path, turn_of: Turn) -> None:
    path = tmp_path / "p.gcbr"
    with papers.open(path):
        pass
    with Project.open(path, papers.file.graph, Wishes(strategy="degree", budget=9, overlap=0.5)) as project:
        assert (project.settings.strategy, project.settings.budget) == ("degree", 9)
        assert project.settings.classes == papers.classes
        row = project.answer("Ada", turn_of(project, "Ada").node, "theory", "r1")
        assert (row.strategy, row.seed) == ("degree", 0)


def test_another_graph_is_refused(papers: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.gcbr"
    with papers.open(path):
        pass
    other = synthetic(SyntheticConfig(nodes=240, classes=3), seed=0, name="other").graph
    with pytest.raises(
        InputError, match="labels the graph 'papers' as it was when it began; 'other' is another"
    ):
        Project.open(path, other)


@pytest.mark.parametrize(
    ("wishes", "complaint"),
    [
        ({"budget": 241}, "the budget is 241; from 1 to 240 nodes can be labeled"),
        ({"classes": ("a", "b", "a")}, "classes are declared twice: a, b, a"),
        ({"strategy": "agee"}, "did you mean 'age'"),
        ({"overlap": 1.5}, "the overlap is 1.5; it is a share"),
        ({"labels": {0: "\x00"}}, "A class is a name"),
    ],
)
def test_wrong_wishes_are_told_at_once(
    papers: Any, tmp_path: Path, wishes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        papers.open(tmp_path / "p.gcbr", **wishes)


def test_default_budgets(papers: Any, tmp_path: Path) -> None:
    graph = papers.file.graph
    budgets = {
        "none": (Wishes(), 100),
        "classes": (Wishes(classes=("a", "b", "c")), 60),
        "labels": (Wishes(labels={0: "a", 1: "b"}), 42),
        "few": (Wishes(candidates=[3, 4]), 2),
    }
    for name, (wishes, budget) in budgets.items():
        with Project.open(tmp_path / f"{name}.gcbr", graph, wishes) as project:
            assert project.settings.budget == budget, name


def test_trouble_in_choosing_stops_no_answer(papers: Any, tmp_path: Path, until: Any) -> None:
    file = tmp_path / "broken.py"
    file.write_text(
        "class Broken:\n"
        "    def __init__(self, graph, budget, rng): pass\n"
        "    def select(self, view): raise RuntimeError('out of ideas')\n"
    )
    with papers.open(tmp_path / "p.gcbr", strategy=f"{file}:Broken") as project:
        until(lambda: project.snapshot.trouble)
        assert "out of ideas" in project.snapshot.trouble
        project.answer("Ada", 3, "theory", "r1")
        assert project.labels() == {3: "theory"}


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["label", "label", "skip", "undo", "correct", "withdraw"]),
        st.integers(0, 7),
        st.sampled_from(["theory", "vision", "databases"]),
    ),
    max_size=14,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=ACTS)
def test_any_history_leaves_the_learner_of_its_surviving_answers(
    papers: Any, tmp_path_factory: pytest.TempPathFactory, until: Any, acts: list[tuple[str, int, str]]
) -> None:
    """Live, and again after reopening: the queue is that of a fresh learner told what survives."""
    path = tmp_path_factory.mktemp("history") / "p.gcbr"
    with papers.open(path, strategy="entropy", budget=30) as project:
        for rank, (kind, node, cls) in enumerate(acts):
            request = f"request-{rank}"
            try:
                match kind:
                    case "label":
                        project.answer("Ada", node, cls, request)
                    case "skip":
                        project.skip("Ada", node, request)
                    case "undo":
                        project.undo("Ada", request)
                    case "correct":
                        project.correct("Ada", node, cls, request)
                    case _:
                        project.withdraw("Ada", node, request)
            except Refused:
                continue
        until(lambda: project.num_behind() == 0 and project.snapshot.is_ready)
        labels, live = project.labels(), [one.node for one in project.snapshot.queue]
        skips = [node for node, standing in project.standings().items() if standing.is_skipped]
        assert not project.snapshot.trouble
    fresh = ActiveLearner(papers.file.graph, "entropy", budget=30, classes=papers.classes, labels=labels)
    for node in skips:
        fresh.skip(node)
    assert live == fresh.ask(len(live))
    with papers.open(path) as project:
        until(lambda: project.snapshot.is_ready)
        assert project.labels() == labels
        assert [one.node for one in project.snapshot.queue][:8] == live[:8]


def test_the_learner_is_on_the_device_asked_for(papers: Any, tmp_path: Path, until: Any) -> None:
    # On a device that holds no numbers nothing can be chosen, and the page says why.
    with Project.open(tmp_path / "papers.gcbr", papers.file.graph, device="meta") as project:
        until(lambda: project.snapshot.is_ready)
        assert "meta" in project.snapshot.trouble
