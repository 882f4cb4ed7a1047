"""How many runs of a pipeline may be active at once.

If two runs write the same target concurrently, the target accepts one of them, and the other is retried: its work is
lost. With a path that depends on the run (`{{ ds }}`, `{{ run_id }}`, …) each run has its own target; any other path
allows one run at a time. So does a source that reads only what is new: each run waits until the one before it has
published. A backfill has its own limit (`--max-active-runs`).
"""

from __future__ import annotations

from collections.abc import Collection

from jinja2 import Environment

from graph_compiler.airflow_backend.dag.template_variables import variables_in
from graph_compiler.declaration.connectors import SinkMode
from graph_compiler.declaration.operators import PreviousVersion, Sink, Source
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import listing

# Variables of Airflow's template context that are the same in every run unless a user changes them.
_NOT_OF_THE_RUN = {"conn", "dag", "macros", "params", "task", "var"}

_SEVERAL_RUNS = (
    "Every run writes the same target. Of two runs that publish at once, one is retried; max_active_runs=1 avoids that."
)
_SEVERAL_READERS = (
    "Each run reads what is new when it runs. Of two runs at once, one is retried until the other has published; "
    "max_active_runs=1 avoids that."
)


def why_one_run_at_a_time(compiled: CompiledPipeline, templates: Environment) -> str | None:
    """Return why runs must wait for each other, None if each has its own targets.

    `templates` is the Dag's environment, which has Airflow's filters.
    """
    if sources := _with_positions(compiled):
        return f"One run at a time: each reads what is new of {listing(sources)} when it runs."
    if shared := shared_targets(compiled, templates):
        return f"One run at a time: every run writes the same target of {listing(shared)}."
    return None


def what_several_runs_cost(compiled: CompiledPipeline) -> str:
    """Return what holds where several runs may be active though one should be."""
    return _SEVERAL_READERS if _with_positions(compiled) else _SEVERAL_RUNS


def _with_positions(compiled: CompiledPipeline) -> list[str]:
    """Return the names of sources that read only what is new."""
    sources = ((n.declared_name, n.operator) for n in compiled.stream_graph.nodes if isinstance(n.operator, Source))
    return [name for name, source in sources if source.reads_what_is_new]


def what_catchup_loses(compiled: CompiledPipeline, templates: Environment) -> str | None:
    """Return a warning for sinks that would keep only the rows of the last run after a catchup.

    Another one for sources that read only what is new: the first run reads all of it. A sink whose rows come from the
    previous version of its target keeps what it wants of those before.
    """
    if sources := _with_positions(compiled):
        return (
            "Catchup runs every interval since the start date, and each run reads what is new when it runs: the first "
            f"one reads all of {listing(sources)}, and the others find nothing. Hint: build the Dag without catchup."
        )
    read = {
        node.operator.connector.place_key()
        for node in compiled.stream_graph.nodes
        if isinstance(node.operator, PreviousVersion)
    }
    if lost := shared_targets(compiled, templates, modes=(SinkMode.OVERWRITE,), but=read):
        return (
            f"Catchup runs every interval since the start date, and each run replaces the rows of the run before it "
            f"in the target of {listing(lost)}: only the rows of one run remain. Hint: let the path depend on the run "
            "({{ ds }}), use mode='overwrite-partitions' or 'merge', or build the Dag without catchup."
        )
    return None


def shared_targets(
    compiled: CompiledPipeline,
    templates: Environment,
    *,
    modes: Collection[SinkMode] = tuple(SinkMode),
    but: Collection[object] = (),
) -> tuple[str, ...]:
    """Return the names of sinks whose place does not depend on the run, in declaration order; without places `but`."""
    return tuple(
        node.declared_name
        for node in compiled.stream_graph.nodes
        if isinstance(node.operator, Sink)
        and node.operator.mode in modes
        and node.operator.connector.place_key() not in but
        and not variables_in(node.operator.connector.place or "", templates) - _NOT_OF_THE_RUN
    )
