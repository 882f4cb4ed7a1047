"""The settings of a slot sharing group that its master ignores, with a clear message."""

from __future__ import annotations

from graph_compiler.declaration.resources.deploy_mode import DeployMode
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.deployment.targets.execution_target import ExecutionTarget
from graph_compiler.identifiers import listing


def ignored_words(
    profile: SlotSharingGroup, target: ExecutionTarget, master: str, mode: DeployMode
) -> str | None:
    """Return a message with the settings that the master ignores, None if there are none."""
    ignored = target.ignored_settings(profile, mode)
    if not ignored:
        return None
    why = f": {target.why_ignored}" if target.why_ignored else f" in {mode} mode"
    return f"slot sharing group '{profile.name}': {master} ignores {listing(ignored)}{why}"
