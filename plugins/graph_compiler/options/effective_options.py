"""The effective value of each option of a pipeline, and where it was set."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.options.deployment_options import DeploymentOptions
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.text import as_text


class OptionOrigin(StrEnum):
    """Where an option was set: the pipeline overrides the deployment, and the deployment the defaults."""

    PIPELINE = "pipeline"
    DEPLOYMENT = "deployment"
    BUILT_IN = "built in"


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveOption:
    """One option: its value, its default, and where it was set."""

    key: str
    value: str
    default: str
    origin: OptionOrigin

    @property
    def is_changed(self) -> bool:
        """Whether the value differs from the default."""
        return self.value != self.default


def effective_options(
    options: PipelineOptions, pipeline: Collection[str], deployment: DeploymentOptions
) -> tuple[EffectiveOption, ...]:
    """Return every option in the model's order; `pipeline` are the keys that the pipeline sets."""
    inherited = dict(deployment.values)
    return tuple(
        EffectiveOption(
            key=str(field.alias),
            value=as_text(getattr(options, name)),
            default=as_text(field.default),
            origin=OptionOrigin.PIPELINE
            if field.alias in pipeline
            else OptionOrigin.DEPLOYMENT
            if field.alias in inherited
            else OptionOrigin.BUILT_IN,
        )
        for name, field in PipelineOptions.model_fields.items()
    )
