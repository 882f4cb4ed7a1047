"""The page and its files, for those who are logged in. Only files that are there at the start are served."""

from __future__ import annotations

from pathlib import Path

from airflow.api_fastapi.core_api.security import get_user
from fastapi import APIRouter, Depends, HTTPException
from fastapi.responses import FileResponse, HTMLResponse, Response

STATIC = Path(__file__).parent / "static"
INDEX = "index.html"
ASSETS = "assets"
# A file's name carries the digest of its content, so it never changes.
_FOR_EVER = {"Cache-Control": "private, max-age=31536000, immutable"}
_NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>graph_compiler</title></head>
<body><h1>The view is not built</h1>
<p>This installation has the view's data, and not its page: the files of the page are missing. Packages of
graph_compiler carry them; in a checkout, <code>make web</code> builds them.</p></body></html>
"""


def pages(static: Path = STATIC) -> APIRouter:
    """Give the routes of the page; `static` holds what the front end's build has written."""
    router = APIRouter(dependencies=[Depends(get_user)])
    files = {
        path.relative_to(static / ASSETS).as_posix(): path
        for path in sorted((static / ASSETS).rglob("*"))
        if path.is_file()
    }

    @router.get("/app/")
    def page() -> Response:
        index = static / INDEX
        if index.is_file():
            return FileResponse(index, media_type="text/html")
        return HTMLResponse(_NOT_BUILT, status_code=503)

    @router.get("/app/assets/{name:path}")
    def asset(name: str) -> Response:
        if name not in files:
            raise HTTPException(404, "there is no such file")
        return FileResponse(files[name], headers=_FOR_EVER)

    return router
