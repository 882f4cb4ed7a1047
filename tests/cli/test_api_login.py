"""The address of Airflow's API on this host, and the login for it, where no option and no variable has them."""

import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from graph_compiler.errors import ConfigurationError, ParameterError
from graph_compiler.run_client import AirflowUnreachableError, Login
from graph_compiler.run_client import login as logins
from graph_compiler.run_client.login import PASSWORD, TOKEN, USER, HostAirflow, checked_url, is_loopback, listeners

FILE = "simple_auth_manager_passwords.json.generated"
ALLOWED = f"allowed: {TOKEN}, or {USER} and {PASSWORD}"
ME = os.getuid()


@pytest.fixture
def host(tmp_path: Path) -> Callable[..., HostAirflow]:
    """Return a function that takes variables; `cfg` is the text of airflow.cfg."""

    def of(cfg: str = "", **environment: str) -> HostAirflow:
        (tmp_path / "airflow.cfg").write_text(cfg)
        return HostAirflow(home=tmp_path, environment=environment, ui_passwords=tmp_path / "ui" / "passwords.json")

    return of


@pytest.fixture
def server() -> Iterator[int]:
    """Return the port of a server of this user's."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize(
    ("cfg", "environment", "url"),
    [
        ("", {}, "http://127.0.0.1:8080"),
        ("[api]\nbase_url = https://a.example/airflow/\n", {}, "https://a.example/airflow"),
        ("[api]\nbase_url =\nport = 9090\n", {}, "http://127.0.0.1:9090"),
        ("[api]\nbase_url = /airflow\nhost = ::\n", {}, "http://[::1]:8080/airflow"),
        ("[api]\nbase_url = /\n", {}, "http://127.0.0.1:8080"),
        ("[api]\nhost = db7\nssl_cert = /c.pem\n", {}, "https://db7:8080"),
        ("[webserver]\nbase_url = http://old:80\n", {}, "http://old:80"),
        ("[webserver]\nweb_server_port = 81\n", {}, "http://127.0.0.1:81"),
        ("[api]\nbase_url = http://file\n", {"AIRFLOW__API__BASE_URL": "http://var"}, "http://var"),
        ("[api]\nbase_url = http://file\n", {"AIRFLOW__API__PORT": "1"}, "http://file"),
        ("", {"AIRFLOW__API__HOST": "127.0.0.1", "AIRFLOW__API__PORT": "1"}, "http://127.0.0.1:1"),
    ],
)
def test_the_address_is_the_one_in_airflows_configuration(
    cfg: str, environment: Mapping[str, str], url: str, host: Callable[..., HostAirflow]
) -> None:
    assert host(cfg, **environment).api_url == url


def test_an_address_that_is_not_valid_is_refused_with_its_place(host: Callable[..., HostAirflow]) -> None:
    for cfg in ("base_url = ftp://x", "base_url = http://ann:s3cret@x", "port = x", "base_url = x"):
        with pytest.raises(ParameterError, match=r"airflow.cfg, \[api\]|section \[api\]") as bad:
            _ = host(f"[api]\n{cfg}\n").api_url
        assert "s3cret" not in str(bad.value)
    with pytest.raises(ConfigurationError, match=r"airflow.cfg"):
        _ = host("[api]\nport = 100%\n").api_url


def test_variables_come_before_the_password_file(host: Callable[..., HostAirflow], tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps({"admin": "fr0m-file"}))
    found = host(**{USER: "ann", PASSWORD: "s3cret", TOKEN: "t0ken"}).login("http://127.0.0.1:1")
    assert "s3cret" not in repr(found)
    assert "t0ken" not in repr(found)
    assert found == Login(user="ann", password="s3cret", token="t0ken")


@pytest.mark.parametrize(
    ("users", "passwords", "wanted", "user"),
    [
        ("admin:admin", {"admin": "s3cret"}, "", "admin"),
        ("eve:viewer, ann:user", {"eve": "x", "ann": "s3cret"}, "", "ann"),
        ("eve:viewer", {"eve": "s3cret"}, "", "eve"),
        ("new:admin,ann:op:a|b", {"ann": "s3cret"}, "", "ann"),
        ("ann:admin,bob:admin", {"ann": "x", "bob": "s3cret"}, "bob", "bob"),
    ],
)
def test_the_password_of_airflows_simple_auth_manager_is_found_for_a_server_of_this_user(
    users: str,
    passwords: dict[str, str],
    wanted: str,
    user: str,
    host: Callable[..., HostAirflow],
    request: pytest.FixtureRequest,
) -> None:
    found = host(f"[core]\nsimple_auth_manager_users = {users}\n", **{USER: wanted})
    (found.home / FILE).write_text(json.dumps(passwords))
    login = found.login(f"http://127.0.0.1:{request.getfixturevalue('server')}")
    assert login == Login(user=user, password="s3cret", origin=found.home / FILE)
    assert "s3cret" not in repr(login)


def test_the_file_may_have_another_place_or_be_that_of_the_ui(
    server: int, host: Callable[..., HostAirflow], tmp_path: Path
) -> None:
    url = f"http://localhost:{server}"
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "passwords.json").write_text('{"admin": "of-ui"}')
    assert host().login(url).password == "of-ui"
    assert host("[core]\nsimple_auth_manager_users = bob:admin\n").login(url).user == "admin"
    (tmp_path / FILE).write_text('{"admin": "of-airflow"}')
    assert host().login(url).password == "of-airflow"
    (tmp_path / "named.json").write_text('{"admin": "named"}')
    named = {"AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(tmp_path / "named.json")}
    assert host(**named).login(url).password == "named"


def test_an_airflow_that_lets_everybody_in_needs_no_password(host: Callable[..., HostAirflow]) -> None:
    found = host("[core]\nsimple_auth_manager_all_admins = True\n").login("http://127.0.0.1:1")
    assert found.user == "Anonymous"


@pytest.mark.parametrize(
    ("url", "cfg", "content", "environment", "hint"),
    [
        ("http://127.0.0.1:1", "", None, {}, f"/{FILE} when it starts. Is it running"),
        ("http://127.0.0.1:1", "", None, {USER: "ann"}, f"/{FILE} when it starts"),
        ("http://127.0.0.1:1", "", None, {TOKEN: ""}, f"/{FILE} when it starts"),
        ("http://127.0.0.1:1", "", None, {PASSWORD: "s3cret"}, f"but {USER} is not"),
        ("http://127.0.0.1:1", "", '{"admin": "s3cret"}', {USER: "ann"}, "password of user 'ann', only of: admin"),
        ("http://127.0.0.1:1", "", "{}", {}, "has no passwords yet"),
        ("http://127.0.0.1:1", "", '"s3cret"', {}, "not a JSON object"),
        ("http://127.0.0.1:1", "", '{"admin": ["s3cret"]}', {}, "not a JSON object"),
        ("http://127.0.0.1:1", "", "s3cret", {}, "not a JSON object"),
        ("http://127.0.0.1:1", "", "[" * 100_000, {}, "not a JSON object"),
        ("http://10.1.2.3:1", "", '{"admin": "s3cret"}', {}, "POST http://10.1.2.3:1/auth/token"),
        ("http://localhost.x:1", "", '{"admin": "s3cret"}', {}, f"the password is in .*/{FILE}"),
        (
            "http://127.0.0.1:1",
            "[core]\nauth_manager = a.FabAuthManager\n",
            '{"admin": "s3cret"}',
            {},
            "FabAuthManager is the auth manager",
        ),
    ],
)
def test_without_a_login_the_message_says_how_to_get_one(
    url: str, cfg: str, content: str | None, environment: dict[str, str], hint: str, host: Callable[..., HostAirflow]
) -> None:
    found = host(cfg, **environment)
    if content is not None:
        (found.home / FILE).write_text(content)
    with pytest.raises(ParameterError, match=f"(?s){ALLOWED}.*hint: .*{hint}") as none:
        found.login(url)
    assert "s3cret" not in str(none.value)


@pytest.mark.parametrize(
    ("users", "me", "reason"),
    [
        ({ME + 1}, ME, "a program of another user listens"),
        ({ME, ME + 1}, ME, "a program of another user listens"),
        (None, ME, "does not say whose program listens"),
        ({ME}, ME + 1, "the file belongs to another user"),
    ],
)
def test_a_password_is_sent_to_no_program_of_another_user(
    users: set[int] | None,
    me: int,
    reason: str,
    host: Callable[..., HostAirflow],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / FILE).write_text('{"admin": "s3cret"}')
    monkeypatch.setattr(logins, "listeners", lambda _: users)
    monkeypatch.setattr(os, "getuid", lambda: me)
    with pytest.raises(ParameterError, match=reason) as refused:
        host().login("http://127.0.0.1:8080")
    assert f"the password of user 'admin' is in {tmp_path / FILE}" in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_a_password_is_not_sent_while_no_server_listens(host: Callable[..., HostAirflow], tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"admin": "s3cret"}')
    with pytest.raises(AirflowUnreachableError, match="no server listens at http://127.0.0.1:1\n"):
        host().login("http://127.0.0.1:1")


def test_the_users_who_listen_on_a_port_are_found(server: int) -> None:
    assert listeners(server) == frozenset({ME})
    assert listeners(1) == frozenset()
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as other:
        assert listeners(other.getsockname()[1]) == frozenset({ME})


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        *((f"http://{host}:8080/x", True) for host in ("127.0.0.1", "127.9.9.9", "[::1]", "localhost")),
        *((f"http://{host}", False) for host in ("0.0.0.0", "127.0.0.1.x", "localhost.x", "10.0.0.1")),
    ],
)
def test_an_address_is_on_loopback_or_not(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


@pytest.mark.parametrize("url", ["", "airflow", "ftp://host", "http://", "http://h:x", "http://h?a=1", "http://[h"])
def test_an_address_that_is_not_valid_is_refused(url: str) -> None:
    with pytest.raises(ParameterError, match="allowed: http"):
        checked_url(url)


def test_a_login_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ParameterError, match="contains a login") as refused:
        checked_url("http://ann:s3cret@host:8080")
    assert "s3cret" not in str(refused.value)
    assert checked_url("https://host:8443/airflow/") == "https://host:8443/airflow"
