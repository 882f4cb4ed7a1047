"""The Chromium of this machine, and how its browser logs in to Airflow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, ViewportSize, sync_playwright

from tests.harness.standalone import Api

SIZE: ViewportSize = {"width": 1440, "height": 900}
Scheme = Literal["light", "dark"]


@contextmanager
def chromium_of_this_machine() -> Iterator[Browser]:
    """Start the browser that CHROMIUM names (scripts/with-chromium)."""
    with sync_playwright() as playwright:
        # Root, as which containers run, may not use Chromium's own sandbox.
        arguments = ["--no-sandbox"] if os.getuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=arguments)
        yield browser
        browser.close()


def logged_in(browser: Browser, api: Api, scheme: Scheme = "light", size: ViewportSize = SIZE) -> BrowserContext:
    """Return a browser context with the cookie of Airflow's login."""
    context = browser.new_context(viewport=size, base_url=api.url, color_scheme=scheme, accept_downloads=True)
    context.add_cookies([{"name": "_token", "value": api.token, "url": api.url}])
    return context
