"""The keys with which this process reaches the staging root's store, as settings that executors get.

Spark sends its driver's keys to executors with each job. Before the first one, they fetch the code of functions and
named files, with the settings of the application alone: they need the keys there. Spark passes its settings to
executors in a message, and hides these in its UI and event log.

Local executors have the driver's variables. YARN copies files to its hosts itself, and writes settings to a disk.
"""

from __future__ import annotations

from collections.abc import Mapping

_SETTINGS = {
    "AWS_ACCESS_KEY_ID": "spark.hadoop.fs.s3a.access.key",
    "AWS_SECRET_ACCESS_KEY": "spark.hadoop.fs.s3a.secret.key",
    "AWS_SESSION_TOKEN": "spark.hadoop.fs.s3a.session.token",
}
_OTHERS = {*_SETTINGS.values(), "spark.hadoop.fs.s3a.aws.credentials.provider"}
_NEED_NONE = ("local", "yarn")


def executor_keys(submitted: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return settings for a session; none if the deployment has set one of them, or where none are needed."""
    if _OTHERS & submitted.keys() or submitted.get("spark.master", "").startswith(_NEED_NONE):
        return {}
    return {key: environment[name] for name, key in _SETTINGS.items() if environment.get(name)}
