"""How long a browser takes to draw a plan, and to zoom and drag it.

Each round opens the page of `explain --format html` in a new context of Chromium, 1440 by 900. First paint: from the
beginning of the navigation to the first frame that shows the graph. A frame: the time between two frames while the
graph is zoomed and dragged. Milliseconds, medians; for frames, also the slowest of twenty.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from playwright.sync_api import Browser

import graph_compiler
from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.explain.documents.page import BUILT, plan_page
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from tests.browser.chromium import SIZE, chromium_of_this_machine

STEPS = 4
DRAWN = """() => new Promise(done => {
  const look = () => performance.getEntriesByName('graph-drawn').length
    ? requestAnimationFrame(() => setTimeout(() => done(performance.now())))
    : setTimeout(look, 1)
  look()
})"""
MOVED = """() => new Promise(done => {
  const frame = document.querySelector('.graph-frame')
  const box = frame.getBoundingClientRect()
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2]
  const times = []
  const step = now => {
    times.push(now)
    if (times.length > 120) return done(times.slice(1).map((time, at) => time - times[at]))
    const deltaY = times.length % 60 < 30 ? 40 : -40
    frame.dispatchEvent(new WheelEvent('wheel', { deltaY, clientX: x, clientY: y, bubbles: true, cancelable: true }))
    requestAnimationFrame(step)
  }
  requestAnimationFrame(step)
})"""


@dataclass(frozen=True, slots=True)
class FirstPaint:
    """Open the page of each of three plans, in every round."""

    rounds: int

    def measure(self, most: int | None, orders: int, folder: Path) -> dict[str, Any]:
        """Return the milliseconds of each plan; `slowest` of twenty frames."""
        del orders
        found = []
        built = (Path(graph_compiler.__file__).parent / BUILT).read_text()
        with chromium_of_this_machine() as browser:
            for feeds in (1, 40, 240):
                compiled = wide(feeds)
                page = folder / f"{feeds}.html"
                page.write_text(plan_page(plan_of(compiled), built))
                rounds = min(self.rounds, most or self.rounds)
                seen = [measured(browser, page.as_uri()) for _ in range(rounds)]
                frames = [frame for _, moves in seen for frame in moves]
                found.append(
                    {
                        "vertices": len(compiled.job_graph.vertices),
                        "kB": page.stat().st_size // 1000,
                        "first_paint": median(paint for paint, _ in seen),
                        "frame": median(frames),
                        "slowest": quantiles(frames, n=20)[-1],
                    }
                )
        return {"plans": found}


def measured(browser: Browser, address: str) -> tuple[float, list[float]]:
    """Return the first paint, and the time of each frame of a movement."""
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.goto(address)
    painted = float(page.evaluate(DRAWN))
    frames = page.evaluate(MOVED)
    context.close()
    return painted, frames


def wide(feeds: int) -> CompiledPipeline:
    """Compile a pipeline of feeds of five vertices each, and a union of them all; each tenth is staged."""
    env = StreamExecutionEnvironment("wide")
    ends = []
    for number in range(feeds):
        feed = env.from_source(Range(0, 10), f"feed_{number}")
        for step in range(STEPS):
            feed = feed.rebalance().filter("id >= 0").name(f"step_{step}_{number}")
        ends.append(feed.stage("each feed comes once") if number % 10 == 0 else feed)
    united = ends[0].union(*ends[1:]) if feeds > 1 else ends[0]
    united.key_by("id").aggregate(n="count(*)").sink_to(Parquet("/out")).name("report")
    return compile_pipeline(env.pipeline())
