"""Options that a deployment sets for all its pipelines; a pipeline's own options override them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentOptions:
    """Valid keys and values, and where they are set, for messages."""

    values: tuple[tuple[str, str], ...] = ()
    origin: str = ""


NO_DEPLOYMENT_OPTIONS = DeploymentOptions()
