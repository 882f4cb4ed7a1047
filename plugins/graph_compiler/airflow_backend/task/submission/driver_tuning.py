"""A driver's JVM on this host starts faster: settings before it is submitted, an archive for the next ones after.

No problem with either fails a task.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.deployment.targets.execution_target import ExecutionTarget
from graph_compiler.driver_jvm.class_archive import archive_cache
from graph_compiler.driver_jvm.room_on_host import why_no_room
from graph_compiler.driver_jvm.start_settings import (
    DEFAULT_OPTIONS,
    NOTHING_SET,
    DriverStart,
    StartSettings,
    start_settings,
)

LOG = logging.getLogger(__name__)
_CLASS_PATH = "spark.driver.extraClassPath"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedArchive:
    """A class archive that a driver would have used, and how it would have been started."""

    key: str
    program: str
    environment: Mapping[str, str] = field(repr=False)
    """Without the pipeline's secrets."""


def tune_driver(hook: SparkSubmitHook, target: ExecutionTarget) -> WantedArchive | None:
    """Add settings to the hook's, and return the archive that is missing.

    Call it when all other settings are known, and before secrets are passed to the hook's process.
    """
    try:
        environment = _environment(hook)
        program = str(hook._connection["spark_binary"])
        found = _settings(hook, target, environment, program)
    except Exception:  # a slower start is no reason to fail
        LOG.warning("graph_compiler: the driver's JVM is not tuned", exc_info=True)
        found = NOTHING_SET
    hook._conf.update(found.conf)
    if found.wanted is None:
        return None
    return WantedArchive(key=found.wanted, program=program, environment=environment)


def doubt_archive(hook: SparkSubmitHook) -> None:
    """Remove the class archive of a driver that died without a report if the archive is damaged."""
    try:
        words = str(hook._conf.get(DEFAULT_OPTIONS, ""))
        removed = archive_cache(_environment(hook)).remove_if_damaged(words)
    except Exception:  # the driver's death is what counts
        LOG.warning("graph_compiler: the class archive was not checked", exc_info=True)
        return
    if removed is not None:
        LOG.warning(
            "graph_compiler: class archive %s is damaged, and was removed: the driver may have died of it. The next "
            "one starts without it",
            removed,
        )


def make_archive_later(wanted: WantedArchive | None) -> None:
    """Make the archive that a driver would have used, in the background, if one before it would have, too."""
    if wanted is None:
        return
    try:
        if (why := why_no_room()) is not None:
            LOG.info("graph_compiler: no class archive is made now: %s", why)
            return
        if not archive_cache(wanted.environment).is_due(wanted.key):
            return
        started = _start_maker(wanted)
    except Exception:  # the driver has succeeded
        LOG.warning("graph_compiler: no class archive is made", exc_info=True)
        return
    LOG.info(
        "graph_compiler: process %d makes a class archive in the background. With it, the next drivers on this host "
        "start in about half the CPU time. It takes up to 1.8 GiB of memory and one to three minutes of two cores, at "
        "the lowest priority. The option execution.class-archives: false turns this off",
        started,
    )


def _settings(
    hook: SparkSubmitHook, target: ExecutionTarget, environment: Mapping[str, str], program: str
) -> StartSettings:
    conf = {key: str(value) for key, value in hook._conf.items()}
    if hook._driver_class_path:
        conf[_CLASS_PATH] = hook._driver_class_path
    return start_settings(
        DriverStart(
            environment=environment,
            conf=conf,
            memory=hook._driver_memory,
            properties_file=hook._properties_file,
            program=program,
            is_local=target.executors_see_driver_files,
        )
    )


def _start_maker(wanted: WantedArchive) -> int:
    """Return the id of the process."""
    warm = ["warm", "--background", wanted.key, "--program", wanted.program]
    maker = subprocess.Popen(
        # With -P, Python imports nothing from the folder that the worker is in.
        [sys.executable, "-P", "-m", "graph_compiler", *warm],
        env=dict(wanted.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # it outlives the task
    )
    return maker.pid


def _environment(hook: SparkSubmitHook) -> Mapping[str, str]:
    known = hook.submit.keywords.get("env", os.environ)
    return {str(name): str(value) for name, value in known.items()}
