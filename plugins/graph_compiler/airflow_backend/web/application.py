"""Build the view's application: pages and documents, without FastAPI's built-in pages (no /docs)."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.types import ASGIApp

from graph_compiler.airflow_backend.installation.settings import Settings, read_settings
from graph_compiler.airflow_backend.stores.connection_access import open_stores
from graph_compiler.airflow_backend.web.plans.dag_versions import PlanCards
from graph_compiler.airflow_backend.web.routes import plan_routes, row_routes, run_routes
from graph_compiler.airflow_backend.web.routes.answers import Server
from graph_compiler.airflow_backend.web.routes.headers import SafeHeaders
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
