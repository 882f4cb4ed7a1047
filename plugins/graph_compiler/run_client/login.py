"""The address of Airflow's API, and how a client proves who it is: never shown, and never an argument of a command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from graph_compiler.errors import ParameterError

URL = "GRAPH_COMPILER_API_URL"
TOKEN = "GRAPH_COMPILER_API_TOKEN"
USER = "GRAPH_COMPILER_API_USER"
PASSWORD = "GRAPH_COMPILER_API_PASSWORD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A token, or a user with a password, with which the API is asked for a token."""

    user: str | None = None
    token: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)


def login_of(environment: Mapping[str, str]) -> Login:
    """Return the login that variables set; raises ParameterError if they set none."""
    token, user = environment.get(TOKEN), environment.get(USER)
    password = environment.get(PASSWORD)
    if not token and not (user and password):
        raise ParameterError(
            "Airflow's API needs a login, and there is none in the environment\n"
            f"  allowed: {TOKEN}, or {USER} and {PASSWORD}"
        )
    return Login(token=token or None, user=user or None, password=password or None)


def checked_url(url: str) -> str:
    """Return the address without a slash at its end; raises ParameterError if it is not valid, or has a login."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        raise ParameterError(f"the address of Airflow's API is not valid\n  {_ALLOWED}") from None
    if parts.username is not None or parts.password is not None:
        raise ParameterError(
            "the address of Airflow's API contains a login, which other users of this host could see\n"
            f"  hint: use {USER} and {PASSWORD}"
        )
    if not is_valid or parts.query or parts.fragment:
        raise ParameterError(f"the address of Airflow's API is '{url}'\n  {_ALLOWED}")
    return url.rstrip("/")


_ALLOWED = "allowed: http:// or https://, a host, and maybe a port and a path, such as http://127.0.0.1:8080"
