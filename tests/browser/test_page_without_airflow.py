"""What `explain --format html` writes: one file that shows everything without any request."""

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import accessibility_problems

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.browser

EVIL = """
from graph_compiler import Parquet, Range, StreamExecutionEnvironment

env = StreamExecutionEnvironment("evil", description="</script><script>alert('description')</script>")
rows = env.from_source(Range(0, 9), "<script>alert('source')</script>")
rows.filter("id > 1").name("<img src=x onerror=alert('name')>").stage("<b>because</b>").key_by(
    "id"
).aggregate(n="count(*)").name("--><svg onload=alert('svg')>").sink_to(Parquet("/out")).name("out")
"""


def written(project: Path, name: str, file: Path) -> str:
    """Write the page of a project's pipeline, and return its address."""
    command = [sys.executable, "-m", "graph_compiler", "explain", name, "--format", "html"]
    with file.open("w") as output:
        subprocess.run(command, cwd=project, stdout=output, check=True)
    return file.as_uri()


def test_a_single_file_shows_the_plan_without_requests(tmp_path: Path, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    address = written(ROOT, "flights", tmp_path / "plan.html")
    page.goto(address)
    expect(page.get_by_role("heading", name="flights")).to_be_visible()
    expect(page.locator("[data-kind=node]")).to_have_count(13)
    expect(page.get_by_role("tab")).to_have_text(["Job graph", "Stream graph", "Execution graph"])
    page.get_by_role("tab", name="Execution graph").click()
    expect(page.locator("#view")).to_contain_text("13 subtasks")
    assert [one for one in asked if not one.startswith(("data:", "blob:"))] == [address]
    assert accessibility_problems(page) == []


def test_names_are_never_markup(tmp_path: Path, page: Page) -> None:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "__init__.py").touch()  # else the project's own package is nearer
    (tmp_path / "pipelines" / "evil.py").write_text(EVIL)
    page.goto(written(tmp_path, "evil", tmp_path / "plan.html"))
    shown = page.locator("[data-kind=node]")
    expect(shown.first).to_contain_text("<script>alert('source')")
    shown.first.click()
    expect(page.get_by_role("complementary", name="Details")).to_contain_text("<img src=x")
    expect(page.locator("img, b")).to_have_count(0)
    # A dialog, had one of them run, would be a complaint at the end (conftest.py).
