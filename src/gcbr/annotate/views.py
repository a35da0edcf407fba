"""From what a project knows to what a reply says; nothing is decided here."""

from __future__ import annotations

from typing import NamedTuple

from gcbr.annotate import messages
from gcbr.annotate.cards import Drawing
from gcbr.annotate.exports import Exports
from gcbr.annotate.ledger import OPEN, Standing
from gcbr.annotate.project import Project
from gcbr.annotate.store import Answer
from gcbr.annotate.worker import Snapshot
from gcbr.explain import Explanation

MAX_MOMENTS = 200  # points of a small chart
MAX_QUEUED = 8


class Guess(NamedTuple):
    label: str | None
    probability: float | None


NO_GUESS = Guess(None, None)


def turn(project: Project, annotator: str) -> messages.Turn:
    assignment = project.next(annotator)
    return messages.Turn(
        status=assignment.state,
        reading=project.snapshot.num_reading,
        node=None
        if assignment.node is None
        else node(project, assignment.node, is_blind=assignment.is_second),
        second=assignment.is_second,
        reasons=None if assignment.explanation is None else _reasons(assignment.explanation),
        state=state(project, annotator),
    )


def state(project: Project, annotator: str | None) -> messages.State:
    settings, snapshot = project.settings, project.snapshot
    counts = project.class_counts()
    fewest, most = min((c.count for c in counts), default=0), max((c.count for c in counts), default=0)
    agreement = project.agreement()
    hint = snapshot.hint
    return messages.State(
        annotator=annotator,
        graph=settings.graph,
        nodes=project.graph.num_nodes,
        edges=project.graph.num_edges,
        strategy=settings.strategy,
        seed=settings.seed,
        classes=[messages.ClassView(name=c.name, count=c.count, target=c.target) for c in counts],
        labels=project.num_labels(),
        skipped=project.num_skips(),
        budget=settings.budget,
        rho=fewest / max(1, most),
        behind=project.num_behind(),
        queue=[
            messages.QueuedNode(
                node=one.node,
                name=project.graph.name_of(one.node),
                predicted=guess(snapshot, one.node).label,
            )
            for one in project.queue()[:MAX_QUEUED]
        ],
        moments=_moments(project),
        hint=None if hint is None else messages.Hint(advice=hint.advice, sentence=hint.sentence),
        agreement=messages.AgreementView(
            nodes=agreement.num_nodes, agreed=agreement.num_agreed, disputes=len(agreement.disputes)
        ),
        trouble=snapshot.trouble,
    )


def recorded(project: Project, row: Answer) -> messages.Recorded:
    return messages.Recorded.model_validate(
        {
            "answer": row.id,
            "node": row.node,
            "name": project.graph.name_of(row.node),
            "kind": row.kind,
            "label": row.label,
            "turn": turn(project, row.annotator),
        }
    )


def node(project: Project, number: int, *, is_blind: bool = False) -> messages.NodeView:
    """A node. Whoever is to give a second opinion sees neither the first nor what was learned from it."""
    standings = project.standings()
    standing = project.standing(number)
    if is_blind:
        standings.pop(number, None)
        standing = OPEN
    return messages.NodeView(
        node=number,
        name=project.graph.name_of(number),
        attributes=[
            messages.AttributeView(name=a.name, kind=a.kind, text=a.text, values=a.values, width=a.width)
            for a in project.cards.attributes(number)
        ],
        label=standing.label,
        skipped=standing.is_skipped,
        guesses=_guesses(project, number, is_blind),
        neighborhood=_neighborhood(project, project.cards.drawing(number, standings), standings, is_blind),
    )


def guess(snapshot: Snapshot, number: int) -> Guess:
    """The class the classifier holds for the likeliest, if it has learned anything."""
    if snapshot.probabilities is None or not snapshot.class_names:
        return NO_GUESS
    row = snapshot.probabilities[number]
    best = int(row.argmax())
    return Guess(snapshot.class_names[best], float(row[best]))


def label_page(
    project: Project,
    search: str,
    label: str | None,
    annotator: str | None,
    status: str,
    offset: int,
    limit: int,
) -> messages.LabelPage:
    """The answers that stand, the newest first."""
    standings = project.standings()
    wanted = search.casefold()

    def is_found(number: int, standing: Standing) -> bool:
        texts = (project.graph.name_of(number), standing.label or "", standing.annotator)
        return (
            (not wanted or any(wanted in text.casefold() for text in texts))
            and (label is None or standing.label == label)
            and (annotator is None or standing.annotator == annotator)
            and _has_status(standing, status)
        )

    found = [(number, standing) for number, standing in standings.items() if is_found(number, standing)]
    found.sort(key=lambda pair: (pair[1].at, pair[0]), reverse=True)
    snapshot = project.snapshot
    return messages.LabelPage(
        rows=[_label_row(project, snapshot, *pair) for pair in found[offset : offset + limit]],
        total=len(found),
        annotators=sorted({standing.annotator for standing in standings.values()}),
    )


def agreement_page(project: Project) -> messages.AgreementPage:
    agreement = project.agreement()
    return messages.AgreementPage(
        nodes=agreement.num_nodes,
        agreed=agreement.num_agreed,
        disputes=[
            messages.DisputeView(
                node=one.node,
                name=project.graph.name_of(one.node),
                label=one.standing.label or "",
                opinions=dict(one.standing.opinions),
            )
            for one in agreement.disputes
        ],
    )


def export_page(exports: Exports) -> messages.ExportPage:
    return messages.ExportPage(
        folder=exports.folder.name,
        files=[messages.ExportView(name=f.name, size=f.size, at=f.at) for f in exports.files()],
        pending=exports.pending,
        failed=exports.failed,
    )


def _guesses(project: Project, number: int, is_blind: bool) -> list[messages.Guess]:
    """A probability for each class, in the order of the classes: buttons shall not move about."""
    snapshot = project.snapshot
    known: dict[str, float] = {}
    if snapshot.probabilities is not None and not is_blind:
        known = dict(zip(snapshot.class_names, snapshot.probabilities[number].tolist(), strict=False))
    return [messages.Guess(label=name, probability=known.get(name, 0.0)) for name in project.class_names()]


def _neighborhood(
    project: Project, drawing: Drawing, standings: dict[int, Standing], is_blind: bool
) -> messages.Neighborhood:
    snapshot, centrality = project.snapshot, project.cards.centrality

    def drawn(rank: int, number: int) -> messages.DrawnNode:
        label, probability = NO_GUESS if is_blind and rank == 0 else guess(snapshot, number)
        return messages.DrawnNode(
            node=number,
            name=project.graph.name_of(number),
            label=standings[number].label if number in standings else None,
            predicted=label,
            probability=probability,
            centrality=centrality[number],
            distance=0 if rank == 0 else 1 if rank <= drawing.num_shown else 2,
        )

    return messages.Neighborhood(
        nodes=[drawn(rank, number) for rank, number in enumerate(drawing.nodes)],
        edges=list(drawing.edges),
        neighbors=drawing.num_neighbors,
        shown=drawing.num_shown,
    )


def _reasons(explanation: Explanation) -> messages.Reasons:
    return messages.Reasons(
        sentence=explanation.sentence,
        columns=[
            messages.ColumnView(name=c.name, title=c.title, value=c.value, percentile=c.percentile)
            for c in explanation.columns
        ],
        balance_before=explanation.expected_balance_before,
        balance_after=explanation.expected_balance_after,
    )


def _moments(project: Project) -> list[messages.MomentView]:
    moments = project.moments
    step = -(-len(moments) // MAX_MOMENTS) or 1
    kept = list(moments[::-1][::step][::-1])  # the last one always
    return [messages.MomentView(given=m.given, rho=m.rho, stability=m.stability, stop=m.stop) for m in kept]


def _has_status(standing: Standing, status: str) -> bool:
    match status:
        case "labeled":
            return standing.label is not None
        case "skipped":
            return standing.is_skipped
        case "disputed":
            return standing.is_disputed and not standing.is_settled
    return True


def _label_row(project: Project, snapshot: Snapshot, number: int, standing: Standing) -> messages.LabelRow:
    label, probability = guess(snapshot, number)
    return messages.LabelRow(
        node=number,
        name=project.graph.name_of(number),
        label=standing.label,
        skipped=standing.is_skipped,
        annotator=standing.annotator,
        at=standing.at,
        opinions=dict(standing.opinions),
        predicted=label,
        probability=probability,
    )
