"""The ways of an alert to people: a mail with a text and an HTML part, and a message in Slack.

Providers are imported when a message is sent: a Dag file is parsed all day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from email.mime.text import MIMEText
from importlib.util import find_spec
from typing import Any

from airflow.configuration import conf

from graph_compiler.errors import Problem
from graph_compiler.explain.alerts.html_page import html_page
from graph_compiler.explain.alerts.message import Message
from graph_compiler.explain.alerts.plain_text import plain_text
from graph_compiler.explain.alerts.slack_blocks import escaped, slack_blocks
from graph_compiler.identifiers import shown

_SECONDS, _AGAIN = 10, 0
"""The limits of a mail unless its connection sets others: the Dag processor ends a callback after 50 s.

On the same connection, the provider tries again; that hides why the server has closed it.
"""
HEADERS = {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"}
"""What keeps answers of absent people away."""


def missing_provider(provider: str) -> Problem | None:
    """Return the problem, with the package to install, unless a provider of Airflow is installed."""
    if find_spec(f"airflow.providers.{provider}") is not None:
        return None
    package = f"apache-airflow-providers-{provider}"
    return Problem(
        message=f"the package {package} is not installed",
        hint=f"pip install {package}, wherever Dag files are parsed and tasks run",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """A mail through Airflow's connection; names as in its SmtpNotifier."""

    to: tuple[str, ...]
    from_email: str | None
    cc: tuple[str, ...]
    smtp_conn_id: str | None

    def __str__(self) -> str:
        """Return the way as in a log."""
        return "by mail"

    def send(self, message: Message) -> None:
        """Send it; raises what the provider raises."""
        conn_id = self.smtp_conn_id or conf.get("email", "email_conn_id", fallback="smtp_default")
        with mail_hook(conn_id, plain_text(message)) as hook:
            sender = self.from_email or hook.from_email
            hook.send_email_smtp(
                to=list(self.to),
                cc=list(self.cc),
                from_email=sender or conf.get("email", "from_email", fallback=None),
                subject=message.title,
                html_content=html_page(message),
                mime_subtype="alternative",
                custom_headers=HEADERS,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Slack:
    """A message through an incoming webhook of Slack."""

    slack_webhook_conn_id: str

    def __str__(self) -> str:
        """Return the way as in a log."""
        return "to Slack"

    def send(self, message: Message) -> None:
        """Send it; raises what the provider raises."""
        from airflow.providers.slack.hooks.slack_webhook import SlackWebhookHook  # it may not be installed

        hook = SlackWebhookHook(slack_webhook_conn_id=self.slack_webhook_conn_id)
        hook.send(text=escaped(message.title), blocks=slack_blocks(message), unfurl_links=False, unfurl_media=False)


Way = Mail | Slack


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
