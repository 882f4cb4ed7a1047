"""A driver's JVM on this host starts faster: settings before it is submitted, an archive for the next ones after.

No problem with either fails a task.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from graph_compiler.airflow_backend.provider.preparation import SubmitFacts, SubmitPlan
from graph_compiler.driver_jvm.class_archive import archive_cache
from graph_compiler.driver_jvm.room_on_host import why_no_room
from graph_compiler.driver_jvm.start_settings import DEFAULT_OPTIONS, DriverStart, start_settings

LOG = logging.getLogger(__name__)
_CLASS_PATH = "spark.driver.extraClassPath"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedArchive:
    """A class archive that a driver would have used, and how it would have been started."""

    key: str
    program: str
    environment: Mapping[str, str] = field(repr=False)
    """Without the pipeline's secrets."""


def tune_driver(plan: SubmitPlan, facts: SubmitFacts) -> tuple[SubmitPlan, WantedArchive | None]:
    """Return a plan with more settings, and the archive that is missing."""
    try:
        found = start_settings(_start(plan, facts))
    except Exception:  # a slower start is no reason to fail
        LOG.warning("graph_compiler: the driver's JVM is not tuned", exc_info=True)
        return plan, None
    tuned = replace(plan, conf={**plan.conf, **dict(found.conf)})
    if found.wanted is None:
        return tuned, None
    return tuned, WantedArchive(key=found.wanted, program=facts.spark.program, environment=plan.environment)


def _start(plan: SubmitPlan, facts: SubmitFacts) -> DriverStart:
    conf = {key: str(value) for key, value in plan.conf.items()}
    if facts.spark.driver_class_path:
        conf[_CLASS_PATH] = facts.spark.driver_class_path
    return DriverStart(
        environment=plan.environment,
        conf=conf,
        memory=facts.spark.driver_memory,
        properties_file=facts.spark.properties_file,
        program=facts.spark.program,
        is_local=facts.target.executors_see_driver_files,
    )


def doubt_archive(plan: SubmitPlan) -> None:
    """Remove the class archive of a driver that died without a report if the archive is damaged."""
    try:
        words = str(plan.conf.get(DEFAULT_OPTIONS, ""))
        removed = archive_cache(plan.environment).remove_if_damaged(words)
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
