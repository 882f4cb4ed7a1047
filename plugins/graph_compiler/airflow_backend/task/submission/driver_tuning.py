"""A driver's JVM on this host starts faster: settings before it is submitted, an archive for the next ones after."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Mapping

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.deployment.targets.execution_target import ExecutionTarget
from graph_compiler.driver_jvm.class_archive import archive_cache
from graph_compiler.driver_jvm.installation import DriverStartError
from graph_compiler.driver_jvm.start_settings import DriverStart, StartSettings, start_settings

LOG = logging.getLogger(__name__)
_CLASS_PATH = "spark.driver.extraClassPath"


def tune_driver(hook: SparkSubmitHook, target: ExecutionTarget) -> StartSettings:
    """Add settings to the hook's; call it when all others are known."""
    conf = {key: str(value) for key, value in hook._conf.items()}
    if hook._driver_class_path:
        conf[_CLASS_PATH] = hook._driver_class_path
    found = start_settings(
        DriverStart(
            environment=_environment(hook),
            conf=conf,
            memory=hook._driver_memory,
            properties_file=hook._properties_file,
            program=hook._connection["spark_binary"],
            is_local=target.executors_see_driver_files,
        )
    )
    hook._conf.update(found.conf)
    return found


def make_archive_later(hook: SparkSubmitHook, found: StartSettings) -> None:
    """Make the archive that the hook's driver would have used, in the background, if one before it would have, too."""
    environment = _environment(hook)
    try:
        if found.wanted is None or not archive_cache(environment).is_due(found.wanted):
            return
        subprocess.Popen(
            [sys.executable, "-m", "graph_compiler", "warm", "--background"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # it outlives the task
        )
    except (DriverStartError, OSError) as error:
        LOG.info("graph_compiler: no class archive is made: %s", error)
        return
    LOG.info(
        "graph_compiler: a class archive is made in the background: the next drivers start faster"
    )


def _environment(hook: SparkSubmitHook) -> Mapping[str, str]:
    known = hook.submit.keywords.get("env", os.environ)
    return {str(name): str(value) for name, value in known.items()}
