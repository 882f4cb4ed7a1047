"""The address of Airflow's API, and how a client proves who it is: never shown, and never an argument of a command."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from graph_compiler.errors import ParameterError
from graph_compiler.identifiers import listing
from graph_compiler.projects.airflow_configuration import Setting, configuration_file, find_setting
from graph_compiler.run_client.run_status import AirflowUnreachableError

URL = "GRAPH_COMPILER_API_URL"
TOKEN = "GRAPH_COMPILER_API_TOKEN"
USER = "GRAPH_COMPILER_API_USER"
PASSWORD = "GRAPH_COMPILER_API_PASSWORD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A token, or a user with a password, with which the API is asked for a token.

    `origin` is the file from which the password was read, None if the caller has it.
    """

    user: str | None = None
    token: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    origin: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAirflow:
    """The Airflow of this host, as its configuration describes it to a client of its API.

    `ui_passwords` is where `graph-compiler ui` keeps the password of its own Airflow.
    """

    home: Path
    environment: Mapping[str, str]
    ui_passwords: Path | None = None

    @property
    def api_url(self) -> str:
        """Return the address of the API server: `[api] base_url`, else its host and port. Raises ParameterError."""
        base = self._find("api", "base_url")
        try:
            if base is not None and not base.value.startswith("/"):
                return checked_url(base.value)
            host = self._value("api", "host") or "0.0.0.0"
            host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
            scheme = "https" if self._value("api", "ssl_cert") else "http"
            port = self._value("api", "port") or "8080"
            path = "" if base is None else base.value
            return checked_url(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{path}")
        except ParameterError as error:
            origin = base.origin if base else "section [api] of Airflow's configuration"
            raise ParameterError(f"{error}\n  in: {origin}") from None

    def login(self, url: str) -> Login:
        """Return the login that variables set, else, for an address on loopback, one of Airflow's simple auth manager.

        Raises ParameterError without a login, AirflowUnreachableError if no server is there to get the password.
        """
        token, user = self.environment.get(TOKEN), self.environment.get(USER)
        password = self.environment.get(PASSWORD)
        if token or (user and password):
            return Login(token=token or None, user=user or None, password=password or None)
        if password:
            raise _without_login(f"{PASSWORD} is set, but {USER} is not")
        url = checked_url(url)
        manager = (self._value("core", "auth_manager") or _SIMPLE).rpartition(".")[2]
        by_password = f"with a user and a password, the client asks `POST {url}/auth/token` for a token"
        if manager != _SIMPLE:
            raise _without_login(
                f"{by_password}. {manager} is the auth manager here; if it knows no passwords, its documentation says "
                "how to get a token"
            )
        if not is_loopback(url):
            raise _without_login(
                f"{by_password}. If this host runs that Airflow, the password is in {self._passwords_file}"
            )
        if (self._value("core", "simple_auth_manager_all_admins") or "").lower() in _TRUE:
            return Login(user="Anonymous", password="Anonymous")  # Airflow accepts any
        found = self._of_passwords_file(user or None)
        _require_own_server(url, found)
        return found

    @property
    def _passwords_file(self) -> Path:
        """Return the file that has the passwords: of the configured Airflow, else of `graph-compiler ui`."""
        named = self._value("core", "simple_auth_manager_passwords_file")
        file = Path(named) if named else self.home / "simple_auth_manager_passwords.json.generated"
        other = self.ui_passwords
        return other if other is not None and other.is_file() and not file.exists() else file

    def _of_passwords_file(self, user: str | None) -> Login:
        try:
            file = self._passwords_file
            passwords = json.loads(file.read_text()) if file.is_file() else None
        except PermissionError as error:
            raise _without_login(f"this user may not read {error.filename}, which has Airflow's passwords") from None
        except (OSError, ValueError, RecursionError):
            passwords = ()
        if passwords is None:
            raise _without_login(
                f"the API server writes its users' passwords to {file} when it starts. Is it running, and is "
                f"AIRFLOW_HOME {self.home}? `graph-compiler ui` starts one"
            )
        if not isinstance(passwords, dict) or not all(isinstance(x, str) for x in passwords.values()):
            raise _without_login(f"{file} should have Airflow's passwords, but is not a JSON object of them")
        configured = (self._value("core", "simple_auth_manager_users") or "admin:admin").split(",")
        parts = [one.strip().split(":") for one in configured]
        users = sorted(parts, key=lambda one: one[1:2] == ["viewer"])  # who may only look comes last
        names = [one[0] for one in users if one[0] in passwords] or [*passwords]
        name = user or next(iter(names), None)
        if name is None or not passwords.get(name):
            raise _without_login(
                f"{file} has no password of user '{name or 'admin'}', only of: {listing(passwords)}"
                if passwords
                else f"{file} has no passwords yet: is the API server starting?"
            )
        return Login(user=name, password=passwords[name], origin=file)

    def _value(self, section: str, key: str) -> str | None:
        found = self._find(section, key)
        return found.value if found else None

    def _find(self, section: str, key: str) -> Setting | None:
        """Return a setting that is not empty, also under the name that Airflow 2 gave it."""
        file = configuration_file(self.home, self.environment)
        names = [(section, key), *filter(None, [_EARLIER.get((section, key))])]
        found = [find_setting(name, file, self.environment, section=part) for part, name in names]
        return next((one for one in found if one is not None and one.value), None)


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


def is_loopback(url: str) -> bool:
    """Whether a checked address is on this host's loopback interface, which other hosts cannot reach."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def listeners(port: int) -> frozenset[int] | None:
    """Return the ids of the users whose programs listen on a TCP port, None if this system does not say."""
    found = set[int]()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            if table.name == "tcp":
                return None
            continue  # this host has no IPv6
        for _, local, _, state, _, _, _, user, *_ in map(str.split, lines):
            if state == _LISTENING and int(local.rpartition(":")[2], 16) == port:
                found.add(int(user))
    return frozenset(found)


def _require_own_server(url: str, login: Login) -> None:
    """Raise unless a file of this user has the password, and no program of another user would get it.

    While Airflow is down, anybody on this host may take its port.
    """
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    users = listeners(port)
    if users == frozenset():
        raise AirflowUnreachableError(
            f"no server listens at {url}\n"
            "  hint: start Airflow's API server, for example with `graph-compiler ui`; if it has another address, use "
            "--api-url"
        )
    assert login.origin is not None
    me, owner = os.getuid(), login.origin.stat().st_uid
    if me not in (0, owner):
        reason = "the file belongs to another user"
    elif users is None:
        reason = f"this system does not say whose program listens on port {port}"
    elif users - {0, me, owner}:
        reason = f"a program of another user listens on port {port}"
    else:
        return
    raise _without_login(f"the password of user '{login.user}' is in {login.origin}. It was not sent, because {reason}")


def _without_login(hint: str) -> ParameterError:
    return ParameterError(
        "Airflow's API needs a login, and there is none in the environment\n"
        f"  allowed: {TOKEN}, or {USER} and {PASSWORD}\n"
        f"  hint: {hint}"
    )


_ALLOWED = "allowed: http:// or https://, a host, and maybe a port and a path, such as http://127.0.0.1:8080"
_SIMPLE = "SimpleAuthManager"
_TRUE = ("t", "true", "1")
_LISTENING = "0A"
_EARLIER: Mapping[tuple[str, str], tuple[str, str]] = {
    ("api", "base_url"): ("webserver", "base_url"),
    ("api", "host"): ("webserver", "web_server_host"),
    ("api", "port"): ("webserver", "web_server_port"),
    ("api", "ssl_cert"): ("webserver", "web_server_ssl_cert"),
}
"""Names of Airflow 2, which Airflow 3 still reads."""
