"""The effective value of each option of a pipeline, and where it was set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.options.durations import UNSET, as_text
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import DeploymentOptions
from graph_compiler.options.spark_settings import spark_settings


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
    options: PipelineOptions, config: Sequence[tuple[str, str]], deployment: DeploymentOptions
) -> tuple[EffectiveOption, ...]:
    """Return every option in the model's order, then Spark's settings; `config` is what the pipeline sets."""
    pipeline, inherited = dict(config), dict(deployment.values)

    def origin(key: str) -> OptionOrigin:
        if key in pipeline:
            return OptionOrigin.PIPELINE
        return OptionOrigin.DEPLOYMENT if key in inherited else OptionOrigin.BUILT_IN

    ours = (
        EffectiveOption(
            key=str(field.alias),
            value=as_text(getattr(options, name)),
            default=as_text(field.default),
            origin=origin(str(field.alias)),
        )
        for name, field in PipelineOptions.model_fields.items()
    )
    sparks = (
        EffectiveOption(key=key, value=value, default=UNSET, origin=origin(key))
        for key, value in spark_settings(config, deployment).items()
    )
    return (*ours, *sparks)
