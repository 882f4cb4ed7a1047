"""Spark's settings among the options of a pipeline: every key that begins with `spark.`.

    {"spark.sql.shuffle.partitions": "64", "spark.jars.packages": "org.postgresql:postgresql:42.7.4"}

Only Spark knows their names and values, so a misspelled one is not found here.
"""

from __future__ import annotations

from collections.abc import Sequence

from graph_compiler.declaration.resources.application import INSTEAD, secret_in_plain_text
from graph_compiler.errors import Problem
from graph_compiler.options.modes import DeploymentOptions

PREFIX = "spark."


def is_spark_setting(key: str) -> bool:
    """Whether a key is Spark's rather than one of the options."""
    return key.startswith(PREFIX) and key != PREFIX


def spark_settings(config: Sequence[tuple[str, str]], deployment: DeploymentOptions) -> dict[str, str]:
    """Return the settings for every application of a pipeline; its own override the deployment's."""
    merged = {**dict(deployment.values), **dict(config)}
    return {key: merged[key] for key in sorted(merged) if is_spark_setting(key)}


def refused_settings(config: Sequence[tuple[str, str]]) -> tuple[Problem, ...]:
    """Yield settings that say where an application runs, which have options of their own, and secrets."""
    places = [
        Problem(message=f"option '{key}' is {value!r}", allowed="unset", hint=f"use {INSTEAD[key]}")
        for key, value in config
        if key in INSTEAD
    ]
    secrets = [
        secret
        for key, value in config
        if is_spark_setting(key) and (secret := secret_in_plain_text(key, f"option '{key}'", value))
    ]
    return (*places, *secrets)
