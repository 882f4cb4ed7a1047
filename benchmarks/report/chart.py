"""The picture of the 14 steps: a bar for each way to run them, as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from benchmarks.report.runs_table import Runs

SHOWN = ("hand-steps", "spark-pipelines", "hand", "declared-same-task", "declared")
OURS = ("declared-same-task", "declared")
_WIDTH, _LABEL, _BAR, _GAP = 760, 270, 26, 12
_TOP = 58


def chart(runs: Runs) -> str:
    """Draw the CPU seconds of each variant; ours have another colour."""
    bars = [(runs.words[name], name in OURS, runs.middle(name, "cpu"), runs.applications(name)) for name in SHOWN]
    height = _TOP + len(bars) * (_BAR + _GAP) + 8
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'width="{_WIDTH}" height="{height}" role="img" aria-labelledby="title">',
            '<title id="title">CPU seconds of one pipeline of 14 steps, by the way it is run</title>',
            f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
            '<g font-family="system-ui, sans-serif" font-size="14" fill="#1f2933">',
            '<text x="12" y="24" font-size="17" font-weight="600">One pipeline of 14 steps: CPU seconds</text>',
            '<text x="12" y="44" fill="#52606d">the same data, settings and rows; less is better</text>',
            *_bars(bars),
            "</g>",
            "</svg>",
            "",
        ]
    )


def _bars(bars: Sequence[tuple[str, bool, float, int]]) -> Iterable[str]:
    widest = max(seconds for _, _, seconds, _ in bars)
    room = _WIDTH - _LABEL - 190
    for number, (words, is_ours, seconds, applications) in enumerate(bars):
        top = _TOP + number * (_BAR + _GAP)
        middle = top + _BAR / 2 + 5
        width = max(2.0, room * seconds / widest)
        colour = "#1a7f5a" if is_ours else "#9aa5b1"
        starts = "1 start" if applications == 1 else f"{applications} starts"
        yield f'<text x="{_LABEL - 10}" y="{middle:.0f}" text-anchor="end">{escape(words)}</text>'
        yield f'<rect x="{_LABEL}" y="{top}" width="{width:.1f}" height="{_BAR}" rx="3" fill="{colour}"/>'
        yield (
            f'<text x="{_LABEL + width + 8:.1f}" y="{middle:.0f}" font-weight="600">{seconds:.0f} s'
            f'<tspan font-weight="400" fill="#52606d"> · {starts} of Spark</tspan></text>'
        )
