"""Options a deployment sets for all its pipelines; what a pipeline sets itself wins."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentOptions:
    """Keys and values that were found right, and where they are set, for messages."""

    values: tuple[tuple[str, str], ...] = ()
    origin: str = ""


NO_DEPLOYMENT_OPTIONS = DeploymentOptions()
