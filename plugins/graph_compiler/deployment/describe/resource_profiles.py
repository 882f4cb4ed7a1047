"""Spark's settings that are pinned for every application, where a pipeline or a resource profile sets them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.errors import Problem


def pinned_settings(
    profiles: Iterable[SlotSharingGroup], options: Mapping[str, str], session: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Yield settings of groups and options that `session` pins for every application: they would be overridden."""
    found = [(f"option '{key}' is {value!r}", key) for key, value in options.items()]
    found += [
        (f"slot sharing group '{profile.name}' sets {key} to {value!r}", key)
        for profile in profiles
        for key, value in profile.conf.items()
    ]
    return tuple(
        Problem(
            message=message,
            allowed=f"{session[key]!r}: it changes results, so it is the same for every application",
        )
        for message, key in found
        if key in session
    )
