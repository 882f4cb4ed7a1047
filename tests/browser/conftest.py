"""A Chromium, and an Airflow with runs to look at."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    ViewportSize,
    sync_playwright,
)

from tests.browser.shown import VIEWER, Shown, shown_airflow
from tests.standalone import Api

SIZE: ViewportSize = {"width": 1440, "height": 900}
# Airflow's own choice for frames of plugins, of which it warns itself.
EXPECTED = "An iframe which has both allow-scripts and allow-same-origin"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Give the browser that CHROMIUM names (scripts/with-chromium)."""
    with sync_playwright() as playwright:
        # Root, as which containers run, may not use Chromium's own sandbox.
        arguments = ["--no-sandbox"] if os.getuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    with shown_airflow(tmp_path_factory.mktemp("shown")) as airflow:
        yield airflow


@contextmanager
def opened(context: BrowserContext) -> Iterator[Page]:
    """Give a page that must end without an error, a dialog, or anything its policy refuses."""
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))

    def on_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and EXPECTED not in message.text:
            complaints.append(message.text)

    page.on("console", on_console)
    yield page
    context.close()
    assert complaints == []


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """Give a page of nobody."""
    with opened(chromium.new_context(viewport=SIZE)) as page:
        yield page


@pytest.fixture
def airflow_page(chromium: Browser, shown: Shown) -> Iterator[Page]:
    """Give a page of the administrator."""
    with opened(logged_in(chromium, shown.api)) as page:
        yield page


@pytest.fixture
def viewers_page(chromium: Browser, shown: Shown) -> Iterator[Page]:
    """Give a page of a user who may look at everything and change nothing."""
    with opened(logged_in(chromium, shown.log_in(VIEWER))) as page:
        yield page


def logged_in(chromium: Browser, api: Api, scheme: str = "light") -> BrowserContext:
    """Give a browser that has the cookie of Airflow's login."""
    context = chromium.new_context(
        viewport=SIZE,
        base_url=api.url,
        color_scheme=scheme,  # type: ignore[arg-type]  # one of the words that Playwright's Literal lists
        accept_downloads=True,
    )
    context.add_cookies([{"name": "_token", "value": api.token, "url": api.url}])
    return context


def accessibility_problems(page: Page) -> list[str]:
    """Give what axe finds serious or critical, with where."""
    return [
        f"{one['id']}: {one['help']}: {node['html'][:160]}"
        for one in Axe().run(page).response["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
