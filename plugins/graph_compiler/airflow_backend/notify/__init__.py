"""What others learn of attempts: people by mail and in Slack, programs by metrics and lineage.

    a try ends, its outcome is written   attempts that were not sent yet   →  Metrics, Lineage    sending
    Airflow calls back                   an alert of failed tries          →  Mail, Slack         failure_notifier

Each is a `Sender`; what one cannot send stops neither the others nor the task.
"""
