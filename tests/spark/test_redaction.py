"""What is removed from messages and logs: secrets, and no ordinary words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler import Jdbc, Secret

pytestmark = pytest.mark.spark
PASSWORD, TOKEN, LOGIN = Secret("db"), Secret("db", "token"), Secret("db", "login")
DECLARED = Jdbc("jdbc:postgresql://h/x", table="t", user=LOGIN, password=PASSWORD, options={"token": TOKEN})
CASES = [
    (LOGIN, "app", "/data/app/x: user app", "/data/app/x: user app"),
    (Secret("db", "schema"), "sales", "sales.orders", "sales.orders"),
    (Secret("db", "host"), "h", "jdbc:x://h/x", "jdbc:x://h/x"),
    (Secret("db", "port"), "1", "1 row", "1 row"),
    (PASSWORD, "canary", "/data/canary1/x", "/data/***1/x"),
    (TOKEN, "canary", "password=canary", "password=***"),
    (PASSWORD, "a b/c", "pw=a%20b%2Fc or a b/c", "pw=*** or ***"),
    (PASSWORD, "app", "/data/app/x, happy, pw=app, PW_app", "/data/***/x, happy, pw=***, PW_***"),
    (PASSWORD, "p.w", "p.w pxw", "*** pxw"),
    (PASSWORD, "", "nothing", "nothing"),
]


@pytest.mark.parametrize(("secret", "value", "text", "shown"), CASES)
def test_a_password_is_removed_and_a_login_is_not(
    secret: Secret, value: str, text: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.spark_runtime.secret_values import redact

    monkeypatch.setenv(secret.variable, value)
    assert redact(text, secret) == shown


def test_a_value_that_is_also_a_password_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.spark_runtime.secret_values import redact

    monkeypatch.setenv(LOGIN.variable, "same-word")
    assert redact("same-word", DECLARED) == "same-word"
    assert redact("same-word") == "***", "whose secret it is, is not known"
    monkeypatch.setenv(PASSWORD.variable, "same-word")
    assert redact("same-word", DECLARED) == "***"


@given(st.text(min_size=5), st.text(), st.text())
def test_a_password_of_5_characters_is_removed_wherever_it_is(value: str, before: str, after: str) -> None:
    from graph_compiler.spark_runtime.secret_values import redact

    with pytest.MonkeyPatch.context() as patch:
        try:
            patch.setenv(PASSWORD.variable, value)
        except (ValueError, UnicodeEncodeError):  # no value of a variable
            return
        left = redact(f"{before}{value}{after}", DECLARED)
        assert value not in left.replace("***", "") or set(value) <= {"*"}
