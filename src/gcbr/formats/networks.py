"""GraphML, GML, GEXF and node-link JSON, all by way of NetworkX."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import numpy as np

from gcbr.errors import InputError
from gcbr.files import write_atomically
from gcbr.formats import places
from gcbr.formats.assembly import Edges, Listing, Parsed

if TYPE_CHECKING:
    import networkx as nx
    import polars as pl

_NOT_IN_XML = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")  # control characters and their like
_FORBIDDEN = {
    ".graphml": _NOT_IN_XML,
    ".gexf": _NOT_IN_XML,
    ".gml": re.compile(r"^(\[\]|\(\))$"),  # NetworkX reads these two as an empty list and tuple
}


def parse_network(path: Path) -> Parsed:
    """The graph in a file of one of `READERS`."""
    content = path.read_bytes()
    if not content.strip():
        raise InputError(f"{path.name} is empty; expected a graph")
    try:
        graph = READERS[path.suffix.lower()](content, path.name)
    except InputError:
        raise
    except expat.ExpatError as error:
        place = f"line {error.lineno}, column {error.offset + 1}"
        reason = expat.ErrorString(error.code)
        raise InputError(f"{path.name}, {place}: not valid XML ({reason})") from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path.name}, line {error.lineno}, column {error.colno}: not valid JSON ({error.msg})"
        ) from error
    except Exception as error:  # NetworkX's readers raise whatever a wrong file happens to hit
        kind = path.suffix[1:].upper()
        raise InputError(f"{path.name} cannot be read as {kind}: {error!s:.200}") from error
    return parsed_of(graph, path.stem, path.name)


def parsed_of(graph: nx.Graph, name: str, origin: str) -> Parsed:
    """What a NetworkX graph says: edges and their `weight`, nodes and their attributes."""
    names = [str(node) for node in graph]
    if len(set(names)) < len(names):
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise InputError(f"{origin}: two nodes are called '{twice}'; every name must be unique")
    number = {node: index for index, node in enumerate(graph)}
    ends = np.array([(number[u], number[v]) for u, v in graph.edges()], np.int64).reshape(-1, 2)
    notes: list[str] = []
    listing: Listing = "directed" if graph.is_directed() else "once"
    return Parsed(
        name=name,
        edges=Edges(ends[:, 0], ends[:, 1], _weights(graph, origin), listing),
        num_nodes=len(names),
        node_names=names,
        place=lambda node: f"{origin}, node '{names[node]}'",
        attributes=_attributes(graph, notes),
        notes=tuple(notes),
    )


def write_network(path: Path, edges: pl.DataFrame, nodes: pl.DataFrame) -> None:
    """The graph of these two tables in the format of the file's suffix."""
    import networkx as nx

    suffix = path.suffix.lower()
    if suffix in _FORBIDDEN:
        _check_text(path.name, nodes, _FORBIDDEN[suffix])
    graph = nx.Graph()
    # GML and GEXF call a node's own name `label`.
    renamed = {"label": "class"} if suffix in (".gml", ".gexf") else {}
    for row in nodes.iter_rows(named=True):
        name = row.pop("id")
        graph.add_node(
            name, **{renamed.get(key, key): value for key, value in row.items() if value is not None}
        )
    for row in edges.iter_rows(named=True):
        graph.add_edge(row.pop("source"), row.pop("target"), **row)
    write_atomically(path, WRITERS[suffix](graph))


def _read_graphml(content: bytes, origin: str) -> nx.Graph:
    import networkx as nx

    _check_ends(content, origin)
    return nx.read_graphml(io.BytesIO(content))


def _read_gexf(content: bytes, origin: str) -> nx.Graph:
    import networkx as nx

    _check_ends(content, origin)
    graph = nx.read_gexf(io.BytesIO(content))
    for attributes in graph.nodes.values():
        attributes.pop("label", None)  # the name a drawing shows
    return graph


def _read_gml(content: bytes, origin: str) -> nx.Graph:
    import networkx as nx

    text = places.decoded(content, origin)
    try:
        return nx.parse_gml(text)
    except nx.NetworkXError as error:
        if "no 'label' attribute" not in str(error):
            raise
        return nx.parse_gml(text, label="id")


def _read_json(content: bytes, origin: str) -> nx.Graph:
    import networkx as nx

    document = json.loads(places.decoded(content, origin))
    edges = next((key for key in ("links", "edges") if isinstance(document, dict) and key in document), None)
    if edges is None or not (isinstance(document.get("nodes"), list) and isinstance(document[edges], list)):
        raise InputError(f"{origin} is not node-link JSON; expected an object with lists 'nodes' and 'links'")
    _check_links(document["nodes"], document[edges], origin)
    return nx.node_link_graph(document, directed=False, multigraph=False, edges=edges)


def _check_links(nodes: list[Any], links: list[Any], origin: str) -> None:
    """NetworkX would make a node of every end that is missing."""
    known: set[object] = set()
    for index, node in enumerate(nodes):
        if not isinstance(node, dict) or not isinstance(node.get("id"), str | int):
            raise InputError(
                f"{origin}, nodes[{index}]: expected an object with an 'id', text or whole number"
            )
        if node["id"] in known:
            raise InputError(f"{origin}, nodes[{index}]: id '{node['id']}' stands there already")
        known.add(node["id"])
    for index, link in enumerate(links):
        for end in ("source", "target"):
            if not isinstance(link, dict) or link.get(end) not in known:
                given = link.get(end) if isinstance(link, dict) else link
                raise InputError(
                    f"{origin}, links[{index}]: {end} '{given}' is no node; expected an id of 'nodes'"
                )


def _check_ends(content: bytes, origin: str) -> None:
    """NetworkX would merge nodes of one id, and make a node of every end that is missing."""
    lines: dict[str, int] = {}
    ends: list[tuple[int, str, str]] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        kind, line = tag.rpartition(":")[2], parser.CurrentLineNumber
        if kind == "node":
            name = attributes.get("id", "")
            if name in lines:
                raise InputError(f"{origin}, line {line}: id '{name}' stands already in line {lines[name]}")
            lines[name] = line
        elif kind == "edge":
            ends.extend((line, end, attributes.get(end, "")) for end in ("source", "target"))

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.Parse(content, True)
    for line, end, name in ends:
        if name not in lines:
            raise InputError(f"{origin}, line {line}: {end} '{name}' is no node; expected the id of one")


def _graphml(graph: nx.Graph) -> bytes:
    import networkx as nx

    buffer = io.BytesIO()
    nx.write_graphml_xml(graph, buffer)
    return buffer.getvalue()


def _gexf(graph: nx.Graph) -> bytes:
    import networkx as nx

    buffer = io.BytesIO()
    nx.write_gexf(graph, buffer)
    return buffer.getvalue()


def _gml(graph: nx.Graph) -> bytes:
    import networkx as nx

    return "\n".join(nx.generate_gml(graph)).encode()


def _json(graph: nx.Graph) -> bytes:
    import networkx as nx

    return json.dumps(nx.node_link_data(graph, edges="links"), allow_nan=False, ensure_ascii=False).encode()


READERS: dict[str, Callable[[bytes, str], nx.Graph]] = {
    ".graphml": _read_graphml,
    ".gml": _read_gml,
    ".gexf": _read_gexf,
    ".json": _read_json,
}
WRITERS: dict[str, Callable[[nx.Graph], bytes]] = {
    ".graphml": _graphml,
    ".gml": _gml,
    ".gexf": _gexf,
    ".json": _json,
}


def _weights(graph: nx.Graph, origin: str) -> np.ndarray[Any, np.dtype[np.float32]] | None:
    given = list(graph.edges(data="weight"))
    if all(weight is None for _, _, weight in given):
        return None
    weights = np.ones(len(given), np.float32)
    for index, (source, target, weight) in enumerate(given):
        try:
            with np.errstate(over="ignore"):
                weights[index] = np.float32(float(weight))
        except (TypeError, ValueError):
            weights[index] = np.nan
        if not (np.isfinite(weights[index]) and weights[index] >= 0):
            what = "missing" if weight is None else f"'{weight}'"
            raise InputError(
                f"{origin}: the weight of edge '{source}' to '{target}' is {what}; "
                "expected a finite number, 0 or more"
            )
    return weights


def _attributes(graph: nx.Graph, notes: list[str]) -> pl.DataFrame | None:
    """One column for each name that some node has an attribute of."""
    import polars as pl

    names = dict.fromkeys(name for attributes in graph.nodes.values() for name in attributes)
    columns = []
    for name in names:
        values = [attributes.get(name) for attributes in graph.nodes.values()]
        column = _column(str(name), values)
        if column is None:
            notes.append(f"attribute '{name}' left out: neither numbers, text nor lists of numbers")
        else:
            columns.append(column)
    return pl.DataFrame(columns) if columns else None


def _column(name: str, values: list[object]) -> pl.Series | None:
    import polars as pl

    kinds = {type(value) for value in values if value is not None}
    if all(issubclass(kind, int | np.integer) for kind in kinds):  # booleans too
        return pl.Series(name, values, pl.Float64 if _is_wide(values) else pl.Int64, strict=False)
    if all(issubclass(kind, int | float | np.number) for kind in kinds):
        return pl.Series(name, [None if value is None else float(value) for value in values], pl.Float64)  # type: ignore[arg-type]
    if all(issubclass(kind, str | int | float) for kind in kinds):
        return pl.Series(name, [None if value is None else str(value) for value in values], pl.String)
    if all(issubclass(kind, list | tuple | np.ndarray) for kind in kinds):
        return _lists(name, values)
    return None


def _lists(name: str, values: Iterable[Any]) -> pl.Series | None:
    import polars as pl

    try:
        rows = [None if value is None else [float(item) for item in value] for value in values]
    except (TypeError, ValueError):
        return None
    return pl.Series(name, rows, pl.List(pl.Float64))


def _is_wide(values: list[object]) -> bool:
    return any(isinstance(value, int) and abs(value) >= 2**63 for value in values)


def _check_text(origin: str, nodes: pl.DataFrame, forbidden: re.Pattern[str]) -> None:
    for column in nodes:
        for value in column:
            if isinstance(value, str) and forbidden.search(value):
                kind = origin.rpartition(".")[2]
                raise InputError(
                    f"{origin}: the format {kind} cannot hold the text {value!r}; use CSV or JSON"
                )
