"""Settings of Spark and options of its JVMs that are pinned, where a pipeline or a resource profile sets them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.deployment.documents.jvm_settings import contradictions
from graph_compiler.errors import Problem

_WHY = "it changes results, so it is the same for every application"


def pinned_settings(
    profiles: Iterable[SlotSharingGroup], options: Mapping[str, str], session: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Return settings of groups and options that `session` or the pins of JVMs contradict: they would be overridden."""
    found = [(f"option '{key}'", "is", key, str(value)) for key, value in options.items()]
    found += [
        (f"slot sharing group '{profile.name}' sets {key}", "to", key, str(value))
        for profile in profiles
        for key, value in profile.conf.items()
    ]
    problems = [
        Problem(message=f"{place} {verb} {value!r}", allowed=f"{session[key]!r}: {_WHY}")
        for place, verb, key, value in found
        if key in session
    ]
    problems += [
        Problem(
            message=f"{place}, which has {word!r}",  # other words of it may be secret
            allowed=f"{allowed!r}: {_WHY}",
            hint=f"remove {word!r}; other options are kept. For local time, write from_utc_timestamp(at, 'ZONE')",
        )
        for place, _, key, value in found
        for word, allowed in contradictions(key, value)
    ]
    return tuple(problems)
