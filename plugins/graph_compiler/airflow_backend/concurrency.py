"""How many runs of a pipeline may be active at once.

Two runs that write the same target at once would cost one of them its work: the target takes one of the two, and
the other is tried again. A path that says which run it belongs to (`{{ ds }}`, `{{ run_id }}`, …) gives each its
own; any other allows one run at a time.
"""

from __future__ import annotations

from jinja2 import Environment, TemplateSyntaxError
from jinja2.meta import find_undeclared_variables

from graph_compiler.declaration.operators import Sink
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline

# Variables of Airflow's template context that are the same in every run unless somebody changes them by hand.
_NOT_OF_THE_RUN = {"conn", "dag", "macros", "params", "task", "var"}


def shared_targets(compiled: CompiledPipeline, templates: Environment) -> tuple[str, ...]:
    """Give the names of sinks whose place does not depend on the run, in declaration order.

    `templates` is the Dag's environment, which knows Airflow's filters.
    """
    return tuple(
        node.declared_name
        for node in compiled.stream_graph.nodes
        if isinstance(node.operator, Sink)
        and not _depends_on_run(node.operator.connector.place or "", templates)
    )


def _depends_on_run(place: str, templates: Environment) -> bool:
    try:
        variables = find_undeclared_variables(templates.parse(place))
    except TemplateSyntaxError:  # Airflow will say so, naming the field, when it renders
        return False
    return bool(variables - _NOT_OF_THE_RUN)
