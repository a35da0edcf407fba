"""How our figures look: the ink, and the settings every figure shares."""

from __future__ import annotations

from typing import Any

INK, MUTED, RULE = "#1b1f24", "#5b6470", "#d9dde3"

BASE_STYLE: dict[Any, Any] = {  # older matplotlibs have no type for a setting's name
    "svg.fonttype": "none",  # letters stay letters: they can be searched, copied and read aloud
    "font.sans-serif": ["DejaVu Sans"],  # an SVG file repeats those to fall back to at every word
    "text.parse_math": False,  # a dollar sign in a class name is a dollar sign
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
}
