"""The notifier that people name in `on_failure_callback` or `on_retry_callback`, of a task or of a Dag.

It sends an alert by mail, with a text and an HTML part, and to Slack. Providers, templates, and what reads documents
are imported when an alert is sent: a Dag file is parsed all day, and few of its tasks fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from email.mime.text import MIMEText
from importlib.util import find_spec
from typing import Any

from airflow.configuration import conf
from airflow.sdk import BaseNotifier, Context
from airflow.sdk.log import redact  # type: ignore[attr-defined]  # imported there for others

from graph_compiler.airflow_backend.notify.sending import deliver
from graph_compiler.errors import ConfigurationError, Problem
from graph_compiler.explain.alert import Message
from graph_compiler.identifiers import shown

_SECONDS, _AGAIN = 10, 0
"""The limits of a mail unless its connection sets others: the Dag processor ends a callback after 50 s.

On the same connection, the provider tries again; that hides why the server has closed it.
"""
HEADERS = {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"}
"""What keeps answers of absent people away."""


class FailureNotifier(BaseNotifier):
    """Sends an alert of a failed task or run, by mail, to Slack, or both.

    alert = FailureNotifier(to="team@example.com", slack_webhook_conn_id="slack_alerts")
    dag = build_dag(env, default_args={"on_failure_callback": alert})
    """

    __module__ = "graph_compiler.airflow_backend"  # serialized Dags name it there: of deadlines, for example
    template_fields: Sequence[str] = ()

    def __init__(
        self,
        *,
        to: str | Sequence[str] | None = None,
        from_email: str | None = None,
        cc: str | Sequence[str] | None = None,
        smtp_conn_id: str | None = None,
        slack_webhook_conn_id: str | None = None,
    ) -> None:
        """Names are those of Airflow's SmtpNotifier and SlackWebhookNotifier; raises ConfigurationError for wrong ones.

        `from_email` is otherwise that of the connection, or of `[email]`; `smtp_conn_id` is otherwise `[email]
        email_conn_id`.
        """
        super().__init__()
        problems: list[Problem] = []

        def read(name: str, value: str | Sequence[str] | None) -> tuple[str, ...]:
            try:
                return addresses(value)
            except ValueError as error:
                problems.append(
                    Problem(message=f"{name} is {error}", allowed="addresses of mail, such as team@example.com")
                )
                return ()

        recipients, copies = read("to", to), read("cc", cc)
        sender = next(iter(read("from_email", [from_email] if from_email else None)), None)
        ways: list[Mail | Slack] = []
        if recipients:
            ways.append(Mail(to=recipients, from_email=sender, cc=copies, smtp_conn_id=smtp_conn_id))
        elif from_email or cc or smtp_conn_id:
            problems.append(Problem(message="a mail has no recipient", hint="name them: to=…"))
        if slack_webhook_conn_id:
            problems += filter(None, [missing_provider("slack")])
            ways.append(Slack(slack_webhook_conn_id=slack_webhook_conn_id))
        if not ways and not problems:
            problems.append(Problem(message="an alert goes nowhere", allowed="to=…, slack_webhook_conn_id=…, or both"))
        if problems:
            raise ConfigurationError(type(self).__name__, problems)
        self.ways = tuple(ways)

    def notify(self, context: Context) -> None:
        """Send the alert all ways; what fails is in the log, and neither stops the other ways nor changes the task."""
        from graph_compiler.airflow_backend.notify.failed_tries import alert_of
        from graph_compiler.explain.alert import message_of, redacted

        message = message_of(redacted(alert_of(context), redact))  # type: ignore[arg-type]  # texts only
        for way, error in deliver(self.ways, message):
            if error is None:
                self.log.info("The alert %r was sent %s", message.title, way)
            else:  # of connections, servers, and providers
                self.log.error("The alert %r was not sent %s: %s: %s", message.title, way, type(error).__name__, error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """Sends a mail through Airflow's connection; names as in its SmtpNotifier."""

    to: tuple[str, ...]
    from_email: str | None
    cc: tuple[str, ...]
    smtp_conn_id: str | None

    def __str__(self) -> str:
        return "by mail"

    def send(self, contents: Message) -> None:
        """Send it; raises what the provider raises."""
        from graph_compiler.airflow_backend.notify.rendering import html_page, plain_text

        conn_id = self.smtp_conn_id or conf.get("email", "email_conn_id", fallback="smtp_default")
        with mail_hook(conn_id, plain_text(contents)) as hook:
            sender = self.from_email or hook.from_email
            hook.send_email_smtp(
                to=list(self.to),
                cc=list(self.cc),
                from_email=sender or conf.get("email", "from_email", fallback=None),
                subject=contents.title,
                html_content=html_page(contents),
                mime_subtype="alternative",
                custom_headers=HEADERS,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Slack:
    """Sends a message through an incoming webhook of Slack."""

    slack_webhook_conn_id: str

    def __str__(self) -> str:
        return "to Slack"

    def send(self, contents: Message) -> None:
        """Send it; raises what the provider raises."""
        from airflow.providers.slack.hooks.slack_webhook import SlackWebhookHook  # it may not be installed

        from graph_compiler.airflow_backend.notify.rendering import escaped, slack_blocks

        hook = SlackWebhookHook(slack_webhook_conn_id=self.slack_webhook_conn_id)
        hook.send(text=escaped(contents.title), blocks=slack_blocks(contents), unfurl_links=False, unfurl_media=False)


def missing_provider(provider: str) -> Problem | None:
    """Return the problem, with the package to install, unless a provider of Airflow is installed."""
    if find_spec(f"airflow.providers.{provider}") is not None:
        return None
    package = f"apache-airflow-providers-{provider}"
    return Problem(
        message=f"the package {package} is not installed",
        hint=f"pip install {package}, wherever Dag files are parsed and tasks run",
    )


def addresses(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return addresses of mail, as Airflow reads them: separated by commas or semicolons, or a list.

    Raises ValueError with what is no address, such as a text with a line break.
    """
    texts = given.replace(";", ",").split(",") if isinstance(given, str) else list(given or ())
    for text in texts:
        if not isinstance(text, str) or "@" not in text or not text.strip().isprintable():
            raise ValueError(shown(text))
    return tuple(text.strip() for text in texts)


def mail_hook(conn_id: str, text: str) -> Any:
    """Return the provider's hook, whose mails have a text part before the HTML part, and which waits for seconds."""
    from airflow.providers.smtp.hooks.smtp import SmtpHook  # see above

    class AlertHook(SmtpHook):  # type: ignore[misc]  # the provider ships no types
        def _build_mime_message(self, *given: Any, **named: Any) -> Any:
            mail, recipients = super()._build_mime_message(*given, **named)
            mail.set_payload([MIMEText(text, "plain", "utf-8"), *mail.get_payload()])
            return mail, recipients

        @property
        def timeout(self) -> int:
            return int(self.conn.extra_dejson.get("timeout", _SECONDS))

        @property
        def smtp_retry_limit(self) -> int:
            return int(self.conn.extra_dejson.get("retry_limit", _AGAIN))

    return AlertHook(smtp_conn_id=conn_id)
