"""End a whole Spark application on this host: spark-submit's JVM and the Python driver, which is a child of its own.

The provider's hook signals spark-submit alone, and the driver lives on: it would commit what nobody waits for.
"""

from __future__ import annotations

import os
import signal
import subprocess
from functools import partial

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

GRACE_SECONDS = 5
"""Between TERM and KILL."""


def lead_a_group(hook: SparkSubmitHook) -> None:
    """Let what the hook starts, and all it starts in turn, be a process group of its own.

    What they print may be in any encoding: a letter that cannot be read fails no task.
    """
    hook.submit = partial(hook.submit, start_new_session=True, errors="replace")


def end_driver(hook: SparkSubmitHook) -> bool:
    """End what the hook has started; False where its driver runs elsewhere, or nothing runs."""
    leader = hook._submit_sp
    if leader is None or hook._connection["deploy_mode"] == "cluster":
        return False
    end_group(leader)
    return True


def end_group(leader: subprocess.Popen[str], grace_seconds: float = GRACE_SECONDS) -> None:
    """Send TERM to a leader's group now, and KILL later to what is left; does not wait.

    The KILL is sent by a process of its own: Airflow's supervisor kills this one five seconds after it has asked it to
    end.
    """
    group = leader.pid  # as its leader began a session
    try:
        os.killpg(group, signal.SIGTERM)
    except ProcessLookupError:
        return
    subprocess.run(
        ["/bin/sh", "-c", f"(sleep {grace_seconds}; kill -KILL -{group}) &"],
        check=False,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
