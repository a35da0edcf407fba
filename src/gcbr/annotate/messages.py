"""What requests and replies look like. Strict: nothing is converted, and nothing unknown is let through."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(min_length=1, max_length=200)]
RequestId = Annotated[
    str,
    StringConstraints(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$"),
    Field(description="Names this request: sent again, it changes nothing and gives the same reply."),
]
NodeNumber = Annotated[int, Field(ge=0, le=2**53)]


class Message(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Join(Message):
    """Who is labeling: the name stands beside every answer."""

    name: Text


class Login(Message):
    password: Annotated[str, StringConstraints(max_length=1000)]


class Act(Message):
    request: RequestId


class NodeAct(Act):
    node: NodeNumber


class LabelAct(NodeAct):
    label: Text
    new_class: bool = Field(False, description="Whether a class of this name may be added.")


class Extension(Message):
    more: Annotated[int, Field(ge=1, le=100_000)]


class ExportOrder(Message):
    format: Literal["csv", "json", "pyg", "graphml"]


class Problem(Message):
    """Why a request was refused."""

    detail: str


class AttributeView(Message):
    name: str
    kind: Literal["text", "number", "grid"]
    text: str
    values: tuple[float, ...] = ()
    width: int = 0


class Guess(Message):
    label: str
    probability: float


class DrawnNode(Message):
    node: int
    name: str
    label: str | None
    predicted: str | None
    probability: float | None
    centrality: float
    distance: Literal[0, 1, 2]


class Neighborhood(Message):
    nodes: list[DrawnNode]
    edges: list[tuple[int, int]]
    neighbors: int = Field(description="Neighbors in the graph.")
    shown: int = Field(description="Neighbors in the drawing.")


class ColumnView(Message):
    name: str
    title: str
    value: float
    percentile: float


class Reasons(Message):
    sentence: str
    columns: list[ColumnView]
    balance_before: float
    balance_after: float


class NodeView(Message):
    """One node with everything there is to see."""

    node: int
    name: str
    attributes: list[AttributeView]
    label: str | None
    skipped: bool
    guesses: list[Guess]
    neighborhood: Neighborhood


class ClassView(Message):
    name: str
    count: int
    target: float


class QueuedNode(Message):
    node: int
    name: str
    predicted: str | None


class MomentView(Message):
    given: int
    rho: float
    stability: float | None
    stop: bool


class Hint(Message):
    advice: bool
    sentence: str


class AgreementView(Message):
    nodes: int
    agreed: int
    disputes: int


class State(Message):
    """Where the labeling stands, for everybody."""

    annotator: str | None
    graph: str
    nodes: int
    edges: int
    strategy: str
    seed: int
    classes: list[ClassView]
    labels: int
    skipped: int
    budget: int
    rho: float
    behind: int = Field(description="Answers that the choice of the next nodes does not know of yet.")
    queue: list[QueuedNode]
    moments: list[MomentView]
    hint: Hint | None
    agreement: AgreementView
    trouble: str = Field(description="Why no nodes are being chosen, if something is wrong; else empty.")


class Turn(Message):
    """What a person is to do now."""

    status: Literal["ready", "loading", "waiting", "finished"]
    reading: int = Field(description="Answers to learn from before the first choice, while a project opens.")
    node: NodeView | None
    second: bool = Field(description="Somebody else has answered it; this is to be a second opinion.")
    reasons: Reasons | None = Field(description="Why this node; null while that is being worked out.")
    state: State


class Recorded(Message):
    """An answer that is on the disk, and what comes next."""

    answer: int
    node: int
    name: str
    kind: Literal["label", "second", "skip", "correct", "withdraw", "undo"]
    label: str | None
    turn: Turn


class LabelRow(Message):
    node: int
    name: str
    label: str | None
    skipped: bool
    annotator: str
    at: str
    opinions: dict[str, str]
    predicted: str | None
    probability: float | None


class LabelPage(Message):
    rows: list[LabelRow]
    total: int = Field(description="Rows that the search found, beyond those on this page.")
    annotators: list[str]


class DisputeView(Message):
    node: int
    name: str
    label: str
    opinions: dict[str, str]


class AgreementPage(Message):
    nodes: int
    agreed: int
    disputes: list[DisputeView]


class ExportView(Message):
    name: str
    size: int
    at: str


class ExportPage(Message):
    folder: str
    files: list[ExportView]
    pending: list[str]
    failed: list[str]


class ExportBegun(Message):
    name: str


class Budget(Message):
    budget: int


class Session(Message):
    annotator: str | None
    annotators: list[str]
