"""The targets that can be named: ours, and those that installed packages register.

    [project.entry-points."graph_compiler.execution_targets"]
    acme = "acme_spark.target:ACME"

The entry point names a value, and its name is the value's.
"""

from __future__ import annotations

from graph_compiler.deployment.targets.built_in import BUILT_IN
from graph_compiler.deployment.targets.execution_target import ExecutionTarget
from graph_compiler.errors import ExtensionError
from graph_compiler.extensions import load_value, registered_values

ENTRY_POINTS = "graph_compiler.execution_targets"


def target_names() -> tuple[str, ...]:
    """Return the names of all targets, ours first; nothing is imported."""
    ours = [target.name for target in BUILT_IN]
    others = [entry.name for entry in registered_values(ENTRY_POINTS)]
    return tuple(dict.fromkeys([*ours, *others]))


def target_named(name: str) -> ExecutionTarget | None:
    """Return the target of a name, None if there is none; raises ExtensionError if its package cannot be used."""
    for target in BUILT_IN:
        if target.name == name:
            return target
    for entry in registered_values(ENTRY_POINTS):
        if entry.name == name:
            target = load_value(entry, ExecutionTarget)
            if target.name != name:
                raise ExtensionError(f"the entry point '{name}' names target '{target.name}'")
            return target
    return None


def target_of(master: str) -> ExecutionTarget | None:
    """Return the first target with this master, None if there is none; others are imported only if none is ours.

    Raises ExtensionError if another package's target cannot be imported.
    """
    for name in target_names():
        target = target_named(name)
        if target is not None and target.has_master(master):
            return target
    return None
