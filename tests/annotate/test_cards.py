"""What is shown of a node."""

from __future__ import annotations

import polars as pl
import pytest
import torch

from gcbr.annotate.cards import MAX_DRAWN, MAX_NEIGHBORS, MAX_TEXT, Attribute, Cards
from gcbr.engine.matrix import Csr, Dense
from gcbr.graph import Graph


def star_of(num_leaves: int) -> Graph:
    """Node 0 in the middle of all others."""
    leaves = torch.arange(1, num_leaves + 1)
    middle = torch.zeros_like(leaves)
    adjacency = Csr.from_entries(
        torch.cat([middle, leaves]),
        torch.cat([leaves, middle]),
        torch.ones(2 * num_leaves),
        (num_leaves + 1, num_leaves + 1),
    )
    return Graph("star", adjacency, Dense(torch.ones(num_leaves + 1, 1)))


def test_columns_are_shown_as_they_stand_and_empty_cells_not_at_all(barbell: Graph) -> None:
    columns = pl.DataFrame(
        {
            "title": ["On walls", "", None, "d", "e", "f"],
            "code": ["007", "1", "2", "3", "4", "5"],
            "weight": [0.25, 1.0, 2.0, 3.0, 4.0, 5.0],
        }
    )
    cards = Cards(barbell, columns)
    assert cards.attributes(0) == (
        Attribute("title", "text", "On walls"),
        Attribute("code", "number", "007"),
        Attribute("weight", "number", "0.25"),
    )
    assert [attribute.name for attribute in cards.attributes(1)] == ["code", "weight"]
    assert [attribute.name for attribute in cards.attributes(2)] == ["code", "weight"]


def test_a_very_long_text_is_cut_and_says_so(barbell: Graph) -> None:
    columns = pl.DataFrame({"text": ["x" * (MAX_TEXT + 1234)] * 6})
    (attribute,) = Cards(barbell, columns).attributes(0)
    assert len(attribute.text) < MAX_TEXT + 50
    assert attribute.text.endswith("… (1,234 more characters)")


def test_vectors_become_a_square_of_shades(barbell: Graph) -> None:
    columns = pl.DataFrame({"pixels": [[0.0, 5.0, 10.0, 2.5]] * 6})
    (attribute,) = Cards(barbell, columns).attributes(3)
    assert (attribute.kind, attribute.width, attribute.values) == ("grid", 2, (0.0, 0.5, 1.0, 0.25))


def test_a_graph_without_columns_shows_its_features(barbell: Graph) -> None:
    (attribute,) = Cards(barbell).attributes(3)  # the features of a node say which one it is
    assert attribute == Attribute("feature 3", "number", "1")


def test_a_drawing_holds_the_node_its_neighbors_and_theirs(barbell: Graph) -> None:
    drawing = Cards(barbell).drawing(0)
    assert drawing.nodes[0] == 0
    assert set(drawing.nodes[1:3]) == {1, 2}
    assert drawing.nodes[3:] == (3,)
    assert set(drawing.edges) == {(0, 1), (0, 2), (1, 2), (2, 3)}
    assert (drawing.num_neighbors, drawing.num_shown) == (2, 2)


def test_of_a_hub_labeled_neighbors_are_drawn_first() -> None:
    cards = Cards(star_of(5000))
    drawing = cards.drawing(0, is_labeled={4321, 77})
    assert drawing.num_neighbors == 5000
    assert drawing.num_shown == MAX_NEIGHBORS
    assert set(drawing.nodes[1:3]) == {4321, 77}
    assert len(drawing.nodes) <= MAX_DRAWN


def test_a_node_alone_is_drawn_alone() -> None:
    nothing = Csr.from_entries(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.ones(2), (3, 3))
    drawing = Cards(Graph("pair", nothing, Dense(torch.ones(3, 1)))).drawing(2)
    assert (drawing.nodes, drawing.edges, drawing.num_neighbors) == ((2,), (), 0)


def test_centrality_goes_from_0_to_1() -> None:
    centrality = Cards(star_of(10)).centrality
    assert centrality[0] == 1
    assert centrality[1:] == pytest.approx([0] * 10)
