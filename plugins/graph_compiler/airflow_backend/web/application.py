"""Build the view's application: pages and documents, without FastAPI's built-in pages (no /docs)."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graph_compiler.airflow_backend.connection_access import open_stores
from graph_compiler.airflow_backend.installation.settings import Settings, read_settings
from graph_compiler.airflow_backend.web.plans.dag_versions import PlanCards
from graph_compiler.airflow_backend.web.routes import plan_routes, row_routes, run_routes
from graph_compiler.airflow_backend.web.routes.answers import Server
from graph_compiler.airflow_backend.web.routes.pages import STATIC, pages


def build_application(settings: Settings | None = None, static: Path = STATIC) -> ASGIApp:
    """Return the application; raises the errors of `read_settings`."""
    application = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    application.include_router(pages(static))
    application.include_router(plan_routes.router)
    application.include_router(run_routes.router)
    application.include_router(row_routes.router)
    used = settings or read_settings()
    open_stores(used.staging_root, used.staging_conn_id)
    application.state.server = Server(settings=used, cards=PlanCards())
    return SafeHeaders(application)


CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
        "frame-ancestors 'self'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}
UNCACHED = "private, no-cache"
"""Lets a browser keep an answer if it revalidates it for every use."""


class SafeHeaders:
    """Wraps an application, since Starlette's middleware does not see the answers to unhandled errors."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, with the headers added."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", UNCACHED)
            await send(message)

        await self._app(scope, receive, send_with_headers)
