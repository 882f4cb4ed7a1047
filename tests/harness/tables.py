"""Tables of the documentation, for tests that try what they say."""

from pathlib import Path


def cells_below(page: Path, heading: str) -> list[dict[str, str]]:
    """Return the rows of the first table below a heading, by the names of its columns."""
    text = page.read_text()
    lines = text[text.index(f"{heading}\n") :].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    names, _, *content = rows
    return [dict(zip(names, row, strict=True)) for row in content]
