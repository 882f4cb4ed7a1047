"""The page and its files: built or not, sent once, and no other files."""

from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


def browser(static: Path) -> Any:
    """Return a logged-in client of an application with this build of the page."""
    from airflow.api_fastapi.core_api.security import get_user
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

    from graph_compiler.airflow_backend.web.application import SafeHeaders
    from graph_compiler.airflow_backend.web.routes.pages import pages

    application = FastAPI()
    application.include_router(pages(static))
    application.dependency_overrides[get_user] = lambda: "somebody"
    return TestClient(SafeHeaders(application))


@pytest.fixture
def built(tmp_path: Path) -> Path:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html>")
    (static / "standalone.html").write_text("<!doctype html>")
    (static / "assets/app.js").write_text("1")
    (tmp_path / "secret").write_text("x")
    (static / "assets/link").symlink_to(static)
    return static


def test_the_page_and_its_files_are_served_with_their_types(built: Path) -> None:
    page = browser(built).get("/app/")
    assert (page.text, page.headers["Content-Type"]) == ("<!doctype html>", "text/html; charset=utf-8")
    script = browser(built).get("/app/assets/app.js")
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"


def test_a_file_is_sent_again_only_when_it_has_changed(built: Path) -> None:
    first = browser(built).get("/app/assets/app.js")
    known = {"If-None-Match": first.headers["ETag"]}
    again = browser(built).get("/app/assets/app.js", headers=known)
    assert (again.status_code, again.content) == (304, b"")
    assert "no-cache" in again.headers["Cache-Control"]
    (built / "assets/app.js").write_text("2")
    assert browser(built).get("/app/assets/app.js", headers=known).text == "2"


@pytest.mark.parametrize("name", ["../index.html", "..%2f..%2fsecret", "%2e%2e/index.html", "/etc/passwd", "", "link"])
def test_other_paths_are_not_served(built: Path, name: str) -> None:
    assert browser(built).get(f"/app/assets/{name}").status_code == 404


def test_a_missing_build_is_reported(tmp_path: Path) -> None:
    answer = browser(tmp_path).get("/app/")
    assert answer.status_code == 503
    assert "make web" in answer.text
