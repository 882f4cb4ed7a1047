"""Settings of a resource profile that have no effect: pinned settings, and those that a master ignores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graph_compiler.declaration.resources.slot_sharing_group import SPARK_SETTINGS, SlotSharingGroup
from graph_compiler.errors import Problem
from graph_compiler.identifiers import listing


def pinned_settings(
    profiles: Iterable[SlotSharingGroup], session: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Yield settings in `conf` that `session` pins for every application: they would be silently overridden."""
    return tuple(
        Problem(
            message=f"slot sharing group '{profile.name}' sets {key} to {value!r}",
            allowed=f"{session[key]!r}: it changes results, so it is the same for every application",
        )
        for profile in profiles
        for key, value in profile.conf.items()
        if key in session
    )


def ignored_settings(profile: SlotSharingGroup, master: str, deploy_mode: str) -> tuple[str, ...]:
    """Return the settings of a profile that this master ignores, as observed on Spark 4's masters."""
    ignored = set()
    if deploy_mode != "cluster":
        ignored.add(
            "driver_cores"
        )  # the driver is a child of spark-submit and has the host's cores
    if _is_local(master):
        ignored |= {"executor_memory", "executor_cores", "executor_instances", "driver_cores"}
    elif master.startswith("spark://") and profile.executor_cores is None:
        # It starts executors until no cores are left, or spark.cores.max is reached: their number times their cores.
        ignored.add("executor_instances")
    return tuple(
        name for name in SPARK_SETTINGS if name in ignored and getattr(profile, name) is not None
    )


def ignored_words(profile: SlotSharingGroup, master: str, deploy_mode: str) -> str | None:
    """Return a message with the settings that the master ignores, None if there are none."""
    ignored = ignored_settings(profile, master, deploy_mode)
    if not ignored:
        return None
    why = (
        ": driver and executor are one JVM, whose heap is driver_memory and whose cores are the master's"
        if _is_local(master)
        else f" in {deploy_mode} mode"
    )
    return f"slot sharing group '{profile.name}': {master} ignores {listing(ignored)}{why}"


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")
