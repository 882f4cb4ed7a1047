"""A Chromium, and an Airflow with runs to show."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from tests.browser.chromium import SIZE, chromium_of_this_machine, logged_in
from tests.browser.shown import VIEWER, Shown, shown_airflow

# Airflow's own choice for frames of plugins, of which it warns itself.
EXPECTED = "An iframe which has both allow-scripts and allow-same-origin"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Yield the browser that CHROMIUM names (scripts/with-chromium)."""
    with chromium_of_this_machine() as browser:
        yield browser


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    with shown_airflow(tmp_path_factory.mktemp("shown")) as airflow:
        yield airflow


@contextmanager
def opened(context: BrowserContext) -> Iterator[Page]:
    """Yield a page that must end without an error, a dialog, or a violation of its policy."""
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
    """Yield a page without a login."""
    with opened(chromium.new_context(viewport=SIZE)) as page:
        yield page


@pytest.fixture
def airflow_page(chromium: Browser, shown: Shown) -> Iterator[Page]:
    """Yield a page of the administrator."""
    with opened(logged_in(chromium, shown.api)) as page:
        yield page


@pytest.fixture
def viewers_page(chromium: Browser, shown: Shown) -> Iterator[Page]:
    """Yield a page of a user who may look at everything and change nothing."""
    with opened(logged_in(chromium, shown.log_in(VIEWER))) as page:
        yield page


def accessibility_problems(page: Page) -> list[str]:
    """Return the serious and critical problems that axe finds, with their places."""
    return [
        f"{one['id']}: {one['help']}: {node['html'][:160]}"
        for one in Axe().run(page).response["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
