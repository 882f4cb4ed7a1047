"""What the machine has tried, and how often: modes by faults, and the refusals it met."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Counts of one run of machines."""

    steps: int = 0
    examples: int = 0
    tried: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(world, mode, fault) → executions."""
    struck: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(call, fault) → how often one struck."""
    refusals: Counter[str] = field(default_factory=Counter)

    def table(self) -> str:
        """Return a table of modes × faults for each world."""
        faults = sorted({fault for _, _, fault in self.tried})
        rows = [["world", "mode", *faults]]
        for world, mode in sorted({(world, mode) for world, mode, _ in self.tried}):
            counts = [str(self.tried[world, mode, fault]) for fault in faults]
            rows.append([world, mode, *counts])
        kinds = sorted({fault for _, fault in self.struck})
        calls = [["struck at", "", *kinds]]
        calls += [
            [call, "", *(str(self.struck[call, kind]) for kind in kinds)]
            for call in sorted({call for call, _ in self.struck})
        ]
        return f"{_aligned(rows)}\n\n{_aligned(calls)}"


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


TALLY = Tally()
"""Of this process."""
