"""The notifier sends mails through Airflow's provider, and blocks to Slack's hook; wrong arguments are refused."""

import sys
import time
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler.errors import ConfigurationError
from tests.harness.mail_server import MailServer, mail_server, part

if TYPE_CHECKING:
    from graph_compiler.airflow_backend import FailureNotifier

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    with mail_server() as server:
        monkeypatch.setenv("AIRFLOW_CONN_SMTP_DEFAULT", server.connection())
        yield server


def context(error: str = "no space left", **given: Any) -> Any:
    ti = {
        "dag_id": "nightly",
        "run_id": "r",
        "task_id": "wait",
        "map_index": -1,
        "task": None,
        "id": "01a1",
        "try_number": 1,
        "max_tries": 0,
        "state": "failed",
    }
    return {"ti": SimpleNamespace(**{**ti, **given}), "exception": ValueError(error)}


def notifier(**given: Any) -> "FailureNotifier":
    from graph_compiler.airflow_backend import FailureNotifier

    return FailureNotifier(**{"to": "team@example.com"} | given)


def test_a_mail_has_a_text_and_an_html_part_and_asks_for_no_answer(server: MailServer) -> None:
    notifier(to="a@example.com; b@example.com", cc=["c@example.com"])(context("größer <b>"))
    (mail,) = server.mails
    assert server.recipients == [["a@example.com", "b@example.com", "c@example.com"]]
    assert mail["Subject"] == "nightly: task 'wait' failed"
    assert (mail["From"], mail["To"], mail["Cc"]) == (
        "airflow@example.com",
        "a@example.com, b@example.com",
        "c@example.com",
    )
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail.get_content_type() == "multipart/alternative"
    assert [one.get_content_type() for one in mail.iter_parts()] == ["text/plain", "text/html"]
    assert "ValueError: größer <b>" in part(mail, "plain")
    assert "ValueError: größer &lt;b&gt;" in part(mail, "html")


def test_the_sender_is_given_or_the_connections_or_airflows(
    server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    notifier(from_email="Sales <sales@example.com>")(context())
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", server.connection(from_email=None))
    monkeypatch.setenv("AIRFLOW__EMAIL__FROM_EMAIL", "all@example.com")
    notifier(smtp_conn_id="other")(context())
    assert [mail["From"] for mail in server.mails] == ["Sales <sales@example.com>", "all@example.com"]


def test_no_name_adds_a_header_or_a_recipient(server: MailServer) -> None:
    evil = "x\r\nBcc: all@example.com\r\n\r\nhello"
    notifier()(context(dag_id=evil, task_id=evil, run_id=evil))
    (mail,) = server.mails
    assert "Bcc" not in mail
    assert server.recipients == [["team@example.com"]]
    assert "\n" not in str(mail["Subject"])
    assert b"\nBcc" not in server.raw[0].partition(b"\n\n")[0].replace(b"\r", b"")


def test_secrets_that_airflow_masks_are_masked(server: MailServer) -> None:
    from airflow.sdk.log import mask_secret

    mask_secret("canary-77<&>abc")
    notifier()(context("password canary-77<&>abc refused", run_id="canary-77<&>abc"))
    (mail,) = server.mails
    for kind in ("plain", "html"):
        assert "password *** refused" in part(mail, kind)
    assert b"canary" not in server.raw[0]


@pytest.mark.parametrize("answer", ["535 no", "421 busy", "554 spam"])
@pytest.mark.parametrize("command", ["EHLO", "MAIL", "RCPT", "DATA"])
def test_a_server_that_refuses_is_in_the_log_and_raises_nothing(
    server: MailServer, command: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answers[command] = answer
    server.answers["HELO"] = answer
    notifier()(context())
    assert server.mails == []
    shown = capsys.readouterr().out
    assert answer.split()[1] in shown, "the server's own words"
    assert "The alert \"nightly: task 'wait' failed\" was not sent by mail: " in shown


def test_a_missing_connection_or_server_is_in_the_log_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = time.monotonic()
    notifier(smtp_conn_id="nowhere")(context())
    assert "was not sent by mail: AirflowException: SMTP connection is not found" in capsys.readouterr().out
    monkeypatch.setenv("AIRFLOW_CONN_NOWHERE", MailServer(port=1).connection())
    notifier(smtp_conn_id="nowhere")(context())
    assert "ConnectionRefusedError" in capsys.readouterr().out
    assert time.monotonic() - begun < 5


def test_the_limits_of_a_mail_are_short_unless_its_connection_sets_others(
    server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.airflow_backend.notify.failure_notifier import mail_hook

    hook = mail_hook("smtp_default", "text")
    with hook:
        assert (hook.timeout, hook.smtp_retry_limit) == (10, 0)
    monkeypatch.setenv("AIRFLOW_CONN_SMTP_DEFAULT", server.connection(timeout=3, retry_limit=7))
    hook = mail_hook("smtp_default", "text")
    with hook:
        assert (hook.timeout, hook.smtp_retry_limit) == (3, 7)


class Hook:
    """Slack's hook with the arguments of the provider's."""

    sent: list[dict[str, Any]]

    def __init__(self, *, slack_webhook_conn_id: str) -> None:
        self.conn_id = slack_webhook_conn_id

    def send(
        self,
        *,
        text: str,
        blocks: list[dict[str, Any]],
        unfurl_links: bool | None = None,
        unfurl_media: bool | None = None,
    ) -> None:
        assert (unfurl_links, unfurl_media) == (False, False)
        if self.conn_id == "broken":
            raise RuntimeError("status 404")
        self.sent.append({"conn_id": self.conn_id, "text": text, "blocks": blocks})


@pytest.fixture
def slack(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return what is sent to Slack; its provider, which is not installed here, is replaced."""
    name = "airflow.providers.slack"
    for each in (name, f"{name}.hooks", f"{name}.hooks.slack_webhook"):
        module = ModuleType(each)
        module.__spec__ = ModuleSpec(each, None)
        module.__path__ = []
        monkeypatch.setitem(sys.modules, each, module)
    monkeypatch.setattr(sys.modules[f"{name}.hooks.slack_webhook"], "SlackWebhookHook", Hook, raising=False)
    Hook.sent = []
    return Hook.sent


def test_slack_is_sent_the_blocks_and_the_title_for_notifications(slack: list[dict[str, Any]]) -> None:
    notifier(to=None, slack_webhook_conn_id="alerts")(context("a < b"))
    (sent,) = slack
    assert (sent["conn_id"], sent["text"]) == ("alerts", "nightly: task 'wait' failed")
    assert any("ValueError: a &lt; b" in block["text"]["text"] for block in sent["blocks"])
    notifier(to=None, slack_webhook_conn_id="alerts")(context(dag_id="<!channel>"))
    assert slack[1]["text"].startswith("&lt;!channel&gt;: task"), "it mentions no one"


def test_one_way_that_fails_does_not_stop_the_other(
    slack: list[dict[str, Any]], server: MailServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answers["MAIL"] = "554 no"
    notifier(slack_webhook_conn_id="alerts")(context())
    assert len(slack) == 1
    server.answers.clear()
    notifier(slack_webhook_conn_id="broken")(context())
    assert len(server.mails) == 1
    assert "was not sent to Slack: RuntimeError: status 404" in capsys.readouterr().out


def test_without_slacks_provider_the_package_is_named() -> None:
    with pytest.raises(ConfigurationError) as refused:
        notifier(slack_webhook_conn_id="alerts")
    assert str(refused.value).splitlines() == [
        "FailureNotifier has 1 problem",
        "  the package apache-airflow-providers-slack is not installed",
        "    hint: pip install apache-airflow-providers-slack, wherever Dag files are parsed and tasks run",
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"to": None}, "an alert goes nowhere"),
        ({"to": []}, "an alert goes nowhere"),
        ({"to": "team"}, "to is 'team'"),
        ({"to": "a@b\nBcc: c@d"}, r"to is 'a@b\\nBcc: c@d'"),
        ({"to": [3]}, "to is 3"),
        ({"cc": "x", "from_email": "y"}, "(?s)cc is 'x'.*from_email is 'y'"),
        ({"to": None, "smtp_conn_id": "x"}, "a mail has no recipient"),
    ],
)
def test_wrong_arguments_are_refused_when_the_file_is_parsed(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        notifier(**given)


def test_a_notifier_has_no_templates_and_is_not_changed_by_a_message(server: MailServer) -> None:
    one = notifier(to="{{ ti.x }}@example.com")
    before = (one.ways, one.context)
    one(context())
    assert (one.ways, one.context) == before
    assert server.recipients == [["{{ ti.x }}@example.com"]]


def test_a_stored_dag_names_the_notifier_where_all_versions_have_it() -> None:
    from airflow.sdk._shared.module_loading import import_string
    from airflow.sdk.definitions.callback import SyncCallback

    from graph_compiler.airflow_backend import FailureNotifier

    path = SyncCallback(FailureNotifier, {"to": "team@example.com"}).serialize()["path"]
    assert path == "graph_compiler.airflow_backend.FailureNotifier"
    before = "graph_compiler.airflow_backend.alerts.failure_notifier.FailureNotifier"
    assert import_string(path) is import_string(before) is FailureNotifier
