"""Take the pictures of the documentation again, from real runs.

scripts/with-java scripts/with-chromium .venv/bin/python -m tests.browser.pictures docs/pictures
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.chromium import Scheme, chromium_of_this_machine, logged_in
from tests.browser.shown import Shown, shown_airflow

SIZE: ViewportSize = {"width": 1440, "height": 800}
SECONDS = 30_000


def main(target: Path) -> None:
    """Run the pipelines, open their pages, and write the pictures."""
    target.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory(prefix="pictures-") as folder,
        shown_airflow(Path(folder)) as shown,
        chromium_of_this_machine() as browser,
    ):
        runs = {}
        for dag in ("recovered", "flights"):
            runs[dag] = shown.trigger(dag)
            assert shown.end_of(dag, runs[dag]) == "success"
        pictures: tuple[tuple[str, Scheme, str, str | None], ...] = (
            ("run", "light", "flights", None),
            ("recovered", "dark", "recovered", "climate"),
        )
        for name, scheme, dag, region in pictures:
            context = logged_in(browser, shown.api, scheme, SIZE)
            page = context.new_page()
            show(page, shown, dag, runs[dag], region)
            page.screenshot(path=target / f"{name}.png")
            context.close()


def show(page: Page, shown: Shown, dag: str, run_id: str, region: str | None) -> None:
    """Open the page of a run, with a task of it selected, without Airflow's pages around it."""
    query = f"dag_id={dag}&run_id={quote(run_id, safe='')}&tab=run"
    page.goto(f"{shown.api.url}/graph-compiler/app/?{query}&region={region or ''}")
    expect(page.locator(".summary")).to_contain_text("success", timeout=SECONDS)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
