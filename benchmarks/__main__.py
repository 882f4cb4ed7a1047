"""`make bench`: measure everything, or some parts, and write docs/benchmarks.md.

python -m benchmarks --only start fourteen --rounds 2 --orders 200000 --results /tmp/results
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.parts import PARTS
from benchmarks.peers.gen_data import ORDERS
from benchmarks.report.conditions import conditions
from benchmarks.report.page import DOCS, RESULTS, pages


def main(words: Sequence[str] | None = None) -> None:
    """Measure the parts one after the other; each result is written when it is known."""
    options = _options(words)
    options.results.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.only:
            print(f"\n{name}", flush=True)
            before = conditions()
            found = PARTS[name].measure(options.rounds, options.orders, folder)
            document = json.dumps({"conditions": before, **found})
            known = json.loads(document, parse_constant=lambda _: None)  # JSON has no NaN
            (options.results / f"{name}.json").write_text(json.dumps(known, indent=1) + "\n")
    if options.results == RESULTS:
        write_pages()


def write_pages() -> None:
    """Write the documentation, once there is a result of every part."""
    if missing := PARTS.keys() - {file.stem for file in RESULTS.glob("*.json")}:
        print(f"docs/benchmarks.md is not written: no results of {', '.join(sorted(missing))}")
        return
    for name, text in pages().items():
        (DOCS / name).write_text(text)


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--rounds", type=int, help="at most so many, for a first look")
    parser.add_argument("--orders", type=int, default=ORDERS, help="a multiple of 8")
    parser.add_argument("--folder", type=Path, help="keeps the data; a temporary one by default")
    parser.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        help="where to write figures; docs/benchmarks.md is written only from the default",
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
