"""Writes docs/results.md and the reports beside the committed records anew, from those records alone.

python -m benchmarks.make_results
"""

from __future__ import annotations

from pathlib import Path

from gcbr.benchmark.results import write_results

ROOT = Path(__file__).parents[1]

if __name__ == "__main__":
    write_results(ROOT / "benchmarks" / "results", ROOT / "docs" / "results.md")
