"""What holds for a pipeline, option by option, and who set it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.options.deployment_options import DeploymentOptions
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.text import as_text


class OptionOrigin(StrEnum):
    """Who set an option: the pipeline wins over the deployment, and the deployment over what is built in."""

    PIPELINE = "pipeline"
    DEPLOYMENT = "deployment"
    BUILT_IN = "built in"


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveOption:
    """One option: its value, the one that is built in, and who set it."""

    key: str
    value: str
    default: str
    origin: OptionOrigin

    @property
    def is_changed(self) -> bool:
        """Whether another value holds than the one that is built in."""
        return self.value != self.default


def effective_options(
    options: PipelineOptions, pipeline: Collection[str], deployment: DeploymentOptions
) -> tuple[EffectiveOption, ...]:
    """Return every option in the model's order; `pipeline` are the keys a pipeline sets."""
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
