"""The page and its files, for logged-in users. Only files that exist at startup are served."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from airflow.api_fastapi.core_api.security import get_user
from fastapi import APIRouter, Depends, Header
from fastapi.responses import HTMLResponse, Response

from graph_compiler.airflow_backend.web.routes.answers import answer_with, refuse

STATIC = Path(__file__).parents[1] / "static"
INDEX = "index.html"
ASSETS = "assets"
_NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>graph_compiler</title></head>
<body><h1>The view is not built</h1>
<p>This installation has the view's data, and not its page: the files of the page are missing. Packages of
graph_compiler carry them; in a checkout, <code>make web</code> builds them.</p></body></html>
"""
# The system's table of media types may not have them, or may call a script text/plain, which browsers refuse.
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFile:
    """A file of the page, read once."""

    content: bytes
    media_type: str
    tag: str

    @classmethod
    def read(cls, path: Path) -> StaticFile:
        """Read a file; its ETag is computed from its content."""
        content = path.read_bytes()
        guessed = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
        return cls(content=content, media_type=guessed, tag=f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def pages(static: Path = STATIC) -> APIRouter:
    """Return the routes of the page; `static` is the output folder of the front end's build."""
    router = APIRouter(dependencies=[Depends(get_user)])
    assets = {
        path.relative_to(static / ASSETS).as_posix(): StaticFile.read(path)
        for path in sorted((static / ASSETS).rglob("*"))
        if path.is_file()
    }
    index = StaticFile.read(static / INDEX) if (static / INDEX).is_file() else None

    @router.get("/app/")
    def page(if_none_match: Annotated[str | None, Header()] = None) -> Response:
        if index is None:
            return HTMLResponse(_NOT_BUILT, status_code=503)
        return answer_with(index.content, index.media_type, index.tag, if_none_match)

    @router.get("/app/assets/{name:path}")
    def asset(name: str, if_none_match: Annotated[str | None, Header()] = None) -> Response:
        found = assets.get(name)
        if found is None:
            refuse("there is no such file")
        return answer_with(found.content, found.media_type, found.tag, if_none_match)

    return router
