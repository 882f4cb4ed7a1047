"""The options of a plan that differ from the defaults, and where they were set."""

from __future__ import annotations

from collections.abc import Iterator

from graph_compiler.deployment.documents.wire import Json
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.options.effective_options import EffectiveOption, effective_options


def changed_options(compiled: CompiledPipeline) -> tuple[EffectiveOption, ...]:
    """Return the options whose value differs from the default."""
    options = effective_options(compiled.options, compiled.pipeline.config, compiled.deployment_options)
    return tuple(option for option in options if option.is_changed)


def option_lines(compiled: CompiledPipeline) -> Iterator[str]:
    """Return the changed options as lines: `  parallelism.default = 4 (deployment)`."""
    for option in changed_options(compiled):
        yield f"  {option.key} = {option.value} ({option.origin})"


def option_json(option: EffectiveOption) -> Json:
    """Return an option as JSON for programs."""
    return {"key": option.key, "value": option.value, "default": option.default, "origin": option.origin.value}
