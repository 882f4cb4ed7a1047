"""The notifier that people name in `on_failure_callback` or `on_retry_callback`, of a task or of a Dag."""

from __future__ import annotations

from collections.abc import Sequence

from airflow.sdk import BaseNotifier, Context
from airflow.sdk.log import redact  # type: ignore[attr-defined]  # imported there for others

from graph_compiler.airflow_backend.alerts.sending import Mail, Slack, Way, addresses, missing_provider
from graph_compiler.errors import ConfigurationError, Problem


class FailureNotifier(BaseNotifier):
    """Sends an alert of a failed task or run, by mail, to Slack, or both.

    alert = FailureNotifier(to="team@example.com", slack_webhook_conn_id="slack_alerts")
    dag = build_dag(env, default_args={"on_failure_callback": alert})
    """

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
        ways: list[Way] = []
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
        # A Dag file is parsed all day, and few of its tasks fail.
        from graph_compiler.airflow_backend.alerts.callback_alert import alert_of
        from graph_compiler.explain.alerts.alert import redacted
        from graph_compiler.explain.alerts.message import message_of

        message = message_of(redacted(alert_of(context), redact))  # type: ignore[arg-type]  # texts only
        for way in self.ways:
            try:
                way.send(message)
            except Exception as error:  # of connections, servers, and providers
                self.log.error("The alert %r was not sent %s: %s: %s", message.title, way, type(error).__name__, error)
            else:
                self.log.info("The alert %r was sent %s", message.title, way)
