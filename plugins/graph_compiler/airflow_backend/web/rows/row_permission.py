"""Who may see rows of staged results: a separate permission, since rows are data, and everything else is metadata."""

from __future__ import annotations

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import HTTPException

ROW_SAMPLES = "Graph Compiler Row Samples"
"""The resource of Airflow's auth manager; the action is GET, which FAB calls `can_read`."""


def may_see_rows(user: BaseUser) -> bool:
    """Whether Airflow's auth manager allows this user to see rows."""
    manager = get_auth_manager()
    # The simple auth manager has roles without permissions, and shows every view of a plugin to every viewer. With it,
    # the user needs the role that may read connections, and so could read the data anyway.
    has_roles_only = isinstance(manager, SimpleAuthManager)
    return manager.is_authorized_custom_view(method="GET", resource_name=ROW_SAMPLES, user=user) and (
        not has_roles_only or manager.is_authorized_connection(method="GET", user=user)
    )


def requires_rows(user: GetUserDep) -> None:
    """Allow the request for users who may see rows; answer 403 for others."""
    if not may_see_rows(user):
        raise HTTPException(403, f"you do not have permission to read '{ROW_SAMPLES}'")
