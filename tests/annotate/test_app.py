"""The API as a program uses it, against a real server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gcbr.annotate.project import Project


def test_a_turn_shows_everything_of_a_node(untouched: Any, papers: Any, until: Any) -> None:
    turn = until(lambda: (turn := untouched.turn())["reasons"] and turn)
    node = turn["node"]
    row = papers.file.attributes.row(node["node"], named=True)
    assert {one["name"]: one["text"] for one in node["attributes"]} == row
    assert [guess["label"] for guess in node["guesses"]] == list(papers.classes)
    assert node["neighborhood"]["nodes"][0]["node"] == node["node"]
    assert len(turn["reasons"]["columns"]) == 6
    assert turn["state"]["budget"] == 60


def test_an_answer_is_recorded_and_the_next_node_comes_with_the_reply(served: Any) -> None:
    node = served.turn()["node"]["node"]
    reply = served.post("/api/answers", node=node, label="theory")
    assert reply.status_code == 200
    recorded = reply.json()
    assert (recorded["node"], recorded["kind"], recorded["label"]) == (node, "label", "theory")
    assert recorded["turn"]["node"]["node"] != node
    assert recorded["turn"]["state"]["labels"] == 1
    assert served.project.labels() == {node: "theory"}


def test_the_same_request_sent_twice_answers_once(served: Any) -> None:
    node = served.turn()["node"]["node"]
    replies = [
        served.post("/api/answers", node=node, label="theory", request="the-same-one").json()
        for _ in range(2)
    ]
    assert replies[0]["answer"] == replies[1]["answer"]
    assert served.project.num_labels() == 1


def test_of_twenty_at_once_each_gets_a_node_of_their_own(served: Any) -> None:
    served.turn()
    names = [f"person-{number}" for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        turns = list(pool.map(served.turn, names))
        nodes = [turn["node"]["node"] for turn in turns]
        assert len(set(nodes)) == 20
        replies = list(
            pool.map(
                lambda pair: served.post("/api/answers", pair[0], node=pair[1], label="theory"),
                zip(names, nodes, strict=True),
            )
        )
    assert [reply.status_code for reply in replies] == [200] * 20
    assert set(served.project.labels()) == set(nodes)


def test_skip_undo_correct_withdraw_through_the_api(served: Any) -> None:
    node = served.turn()["node"]["node"]
    assert served.post("/api/skips", node=node).json()["turn"]["state"]["skipped"] == 1
    undone = served.post("/api/undo").json()
    assert (undone["kind"], undone["turn"]["node"]["node"]) == ("undo", node)
    served.post("/api/answers", node=node, label="theory")
    corrected = served.post("/api/corrections", node=node, label="robots", new_class=True)
    assert corrected.json()["label"] == "robots"
    rows = served.http.get("/api/labels", params={"search": "ROBOT"}).json()
    assert [(row["node"], row["label"], row["annotator"]) for row in rows["rows"]] == [
        (node, "robots", "Ada")
    ]
    assert served.post("/api/withdrawals", node=node).status_code == 200
    assert served.http.get("/api/labels").json()["total"] == 0


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("/api/answers", {"node": 10**6, "label": "theory"}, 404, "There is no node 1000000"),
        ("/api/answers", {"node": 0, "label": "robots"}, 409, "There is no class 'robots'"),
        ("/api/answers", {"node": "0", "label": "theory"}, 422, "body.node: Input should be a valid integer"),
        ("/api/answers", {"node": 0, "label": "theory", "more": 1}, 422, "body.more: Extra inputs"),
        ("/api/answers", {"node": 0, "label": "a\x00b", "new_class": True}, 422, "A class is a name"),
        ("/api/answers", {"node": 0, "label": "theory", "request": "short"}, 422, "body.request"),
        ("/api/undo", {}, 409, "There is nothing of yours to undo"),
        ("/api/withdrawals", {"node": 3}, 409, "has neither a label nor a skip"),
        ("/api/budget", {"more": 0}, 422, "body.more"),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    untouched: Any, path: str, body: Any, status: int, detail: str
) -> None:
    reply = untouched.post(path, **body)
    assert reply.status_code == status
    assert detail in reply.json()["detail"]


BROKEN = [
    (b'{"node": 0, "label": "\\ud800", "request": "request-1"}', 422),
    (b'{"\\ud800": 1}', 422),
    (b"{", 422),
    (b"", 422),
    (b"\xff", 400),
]


@pytest.mark.parametrize(("body", "status"), BROKEN)
def test_broken_text_is_a_mistake_like_any_other(untouched: Any, body: bytes, status: int) -> None:
    headers = {"X-Annotator": "Ada", "Content-Type": "application/json"}
    reply = untouched.http.post("/api/answers", content=body, headers=headers)
    assert reply.status_code == status
    assert "body" in reply.json()["detail"]


def test_labels_are_found_and_paged(served: Any, papers: Any) -> None:
    for _ in range(5):
        node = served.turn()["node"]["node"]
        served.post("/api/answers", node=node, label=papers.truth[node])
    node = served.turn("Bob")["node"]["node"]
    served.post("/api/skips", "Bob", node=node)
    everything = served.http.get("/api/labels").json()
    assert everything["total"] == 6
    assert everything["annotators"] == ["Ada", "Bob"]
    assert [row["at"] for row in everything["rows"]] == sorted(
        (row["at"] for row in everything["rows"]), reverse=True
    )
    page = served.http.get("/api/labels", params={"offset": 4, "limit": 1}).json()
    assert [row["node"] for row in page["rows"]] == [everything["rows"][4]["node"]]
    assert served.http.get("/api/labels", params={"status": "skipped"}).json()["total"] == 1
    assert served.http.get("/api/labels", params={"annotator": "Ada"}).json()["total"] == 5
    first = papers.truth[everything["rows"][-1]["node"]]
    of_class = served.http.get("/api/labels", params={"label": first}).json()
    assert {row["label"] for row in of_class["rows"]} == {first}


def test_a_second_opinion_is_asked_blind(papers: Any, tmp_path: Any, serve: Any, until: Any) -> None:
    with papers.open(tmp_path / "p.gcbr", overlap=1.0) as project:
        served = serve(project)
        node = served.turn("Ada")["node"]["node"]
        served.post("/api/answers", "Ada", node=node, label="theory")
        until(lambda: project.num_behind() == 0)
        turn = served.turn("Bob")
        assert (turn["second"], turn["node"]["node"], turn["node"]["label"]) == (True, node, None)
        assert {guess["probability"] for guess in turn["node"]["guesses"]} == {0}
        assert (turn["node"]["neighborhood"]["nodes"][0]["label"], turn["reasons"]) == (None, None)
        served.post("/api/answers", "Bob", node=node, label="vision")
        agreement = served.http.get("/api/agreement").json()
        assert (agreement["nodes"], agreement["agreed"]) == (1, 0)
        assert agreement["disputes"][0]["opinions"] == {"Ada": "theory", "Bob": "vision"}


def test_exports_are_ordered_listed_and_fetched(served: Any, until: Any) -> None:
    begun = served.http.post("/api/exports", json={"format": "csv"})
    assert begun.status_code == 202
    name = begun.json()["name"]
    page = until(lambda: (page := served.http.get("/api/exports").json())["files"] and page)
    assert [file["name"] for file in page["files"]] == [name]
    fetched = served.http.get(f"/api/exports/{name}")
    assert fetched.text.startswith("node,label,annotator")
    assert fetched.headers["content-disposition"] == f'attachment; filename="{name}"'
    for other in ("nothing.csv", "..%2Fpapers.gcbr", "%2e%2e%2fpapers.gcbr", "papers.gcbr"):
        assert served.http.get(f"/api/exports/{other}").status_code == 404


def test_the_page_of_the_api_names_every_operation(untouched: Any) -> None:
    served = untouched
    document = served.http.get("/openapi.json").json()
    served.http.get("/", params={"token": served.token})
    page = served.http.get("/docs").text
    for path, methods in document["paths"].items():
        assert f"<code>{path}</code>" in page
        for operation in methods.values():
            assert operation["description"].split("\n")[0].replace("'", "&#39;") in page


def test_the_wait_for_choices_is_said(served: Any, project: Project, papers: Any) -> None:
    """Answers come faster than choices: the state says how many of them are not considered yet."""
    behind = []
    for _ in range(6):
        node = served.turn()["node"]["node"]
        reply = served.post("/api/answers", node=node, label=papers.truth[node]).json()
        behind.append(reply["turn"]["state"]["behind"])
    assert max(behind) >= 1
