"""What a comparison of strategies found, as files: `report.html`, `labels.csv` and `result.json`."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import re
import uuid
from pathlib import Path

from gcbr.errors import InputError
from gcbr.files import write_atomically
from gcbr.report.document import as_document
from gcbr.report.summary import Comparison, Settings

__all__ = ["Comparison", "Settings", "as_document", "check_writable", "to_json", "write_report"]


def check_writable(folder: Path) -> None:
    """Make the folder, and refuse it now rather than after the work if a report cannot be written there."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(
            "a report's figures need matplotlib, which is not installed; pip install 'gcbr[plot]'"
        )
    probe = folder / f".{uuid.uuid4().hex}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise _cannot_write(folder, error) from error


def write_report(folder: Path, comparison: Comparison) -> Path:
    """Write the three files into `folder`, each whole or not at all; returns the page."""
    from gcbr.report import page  # matplotlib is an extra

    contents = {
        "result.json": to_json(comparison),
        "labels.csv": labels_csv(comparison),
        "report.html": page.render(comparison),
    }
    try:
        for name, text in contents.items():
            write_atomically(folder / name, text.encode())
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return folder / "report.html"


def to_json(comparison: Comparison) -> str:
    text = json.dumps(as_document(comparison), indent=1, ensure_ascii=False, allow_nan=False)
    # Lists of numbers on one line each. A line break never stands inside a JSON string, so none is touched.
    return re.sub(r"\[\n[^\[\]{}\"]*\]", lambda numbers: " ".join(numbers[0].split()), text) + "\n"


def labels_csv(comparison: Comparison) -> str:
    """The labels the strategy came to, in order; with several runs, one after another."""
    dataset = comparison.dataset
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["step", "node", "name", "class", "seed"])
    for run in comparison.results[comparison.strategy]:
        for step, (node, cls) in enumerate(zip(run.nodes, run.classes, strict=True), start=1):
            writer.writerow([step, node, dataset.graph.name_of(node), dataset.class_names[cls], run.seed])
    return table.getvalue()


def _cannot_write(folder: Path, error: OSError) -> InputError:
    return InputError(f"no report can be written to '{folder}': {error.strerror}; give a folder that can be")
