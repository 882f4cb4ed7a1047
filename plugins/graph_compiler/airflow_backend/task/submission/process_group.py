"""End a whole Spark application on this host: spark-submit's JVM and the Python driver, a child process of it.

The provider's hook signals only spark-submit, and the driver would continue and commit. If Airflow's task process
itself is killed, a shell that waits for its end does the same: otherwise the driver would run beside its successor's.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

GRACE_SECONDS = 5
"""Seconds between TERM and KILL."""


def lead_a_group(hook: SparkSubmitHook) -> None:
    """Run the hook's process and all its children in a separate process group.

    Their output may be in any encoding: an unreadable character is not an error.
    """
    hook.submit = partial(hook.submit, start_new_session=True, errors="replace")


def end_with_this_process(hook: SparkSubmitHook, grace_seconds: float = GRACE_SECONDS) -> None:
    """Make the hook's process group end if this process dies, or stops reading its output because of an error."""
    process = hook._process_spark_submit_log

    def watched(lines: Iterable[str]) -> None:
        with _ended_unless_done(hook._submit_sp.pid, grace_seconds):
            process(lines)

    hook._process_spark_submit_log = watched


def pass_environment(hook: SparkSubmitHook, values: Mapping[str, str]) -> None:
    """Add variables to the environment of the hook's process, and to no argument of it."""
    known = hook.submit.keywords.get("env", os.environ)
    hook.submit = partial(hook.submit, env={**known, **values})


def end_driver(hook: SparkSubmitHook) -> bool:
    """End the hook's process; False if its driver runs on another host, or nothing runs."""
    leader, mode = hook._submit_sp, str(hook._connection["deploy_mode"])
    if leader is None:
        return False
    # In cluster mode it ends long before the driver: by then, its number may be that of another process.
    if mode != "cluster" or leader.poll() is None:
        end_group(leader)
    return mode != "cluster"


def end_group(leader: subprocess.Popen[str], grace_seconds: float = GRACE_SECONDS) -> None:
    """Send TERM to a leader's group now, and KILL to the remaining processes later, without waiting.

    A separate process sends the KILL, since Airflow's supervisor kills this one five seconds after asking it to end.
    """
    group = leader.pid  # the leader started its own session
    try:
        os.killpg(group, signal.SIGTERM)
    except ProcessLookupError:
        return
    _shell(_killing(group, grace_seconds)).wait()


@contextmanager
def _ended_unless_done(group: int, grace_seconds: float) -> Iterator[None]:
    """End a group if this block raises, or this process dies in it: either closes its end of a pipe."""
    end = f"kill -TERM -{group} && {_killing(group, grace_seconds)}"
    waits, says = os.pipe()
    shell = _shell(f"read -r done || {{ {end} }}", stdin=waits)
    os.close(waits)
    try:
        yield
        with suppress(BrokenPipeError):  # the shell was ended
            os.write(says, b"done\n")
    finally:
        os.close(says)
        shell.wait()


def _killing(group: int, grace_seconds: float) -> str:
    return f"(sleep {grace_seconds}; kill -KILL -{group}) &"


def _shell(program: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start a shell that outlives this process."""
    return subprocess.Popen(
        ["/bin/sh", "-c", program],
        start_new_session=True,
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
