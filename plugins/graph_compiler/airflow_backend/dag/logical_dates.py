"""Which runs have a logical date, and the error if a template needs one that is missing.

Scheduled runs, backfills and most manual runs have one. Runs that an asset triggers do not, nor do those that the API
starts with `logical_date: null`. Our `run_date` exists in every run: the day of the logical date, or of `run_after`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from airflow.sdk import Asset, AssetAll, AssetAny, Context
from airflow.sdk.exceptions import AirflowFailException
from jinja2 import Environment, UndefinedError

from graph_compiler.airflow_backend.dag.template_variables import variables_in
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.declaration.parameters.parameter import RUN_DATE
from graph_compiler.errors import Problem
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import listing

NEEDS_LOGICAL_DATE = frozenset(
    {"data_interval_end", "data_interval_start", "ds", "ds_nodash", "logical_date", "ts"}
    | {"ts_nodash", "ts_nodash_with_tz", "task_instance_key_str"}
)
"""Airflow's variables that do not exist in runs without a logical date."""


def places_without_logical_date(
    compiled: CompiledPipeline, schedule: object, templates: Environment
) -> tuple[Problem, ...]:
    """Find places that need the logical date in a Dag that only assets trigger."""
    is_by_assets = isinstance(schedule, Asset | AssetAll | AssetAny | list | tuple)
    return tuple(_using_logical_date(compiled, templates)) if is_by_assets else ()


def _using_logical_date(compiled: CompiledPipeline, templates: Environment) -> Iterator[Problem]:
    for node in compiled.stream_graph.nodes:
        if not isinstance(node.operator, Source | Sink):
            continue
        for text in node.operator.connector.texts().values():
            if asked := variables_in(text, templates) & NEEDS_LOGICAL_DATE:
                yield Problem(
                    operator=node.declared_name,
                    message=f"'{text}' uses {listing(sorted(asked))}, but a run triggered by an "
                    "asset has no logical date",
                    hint=f"{{{{ {RUN_DATE} }}}} is the day in every run",
                    declared_at=node.declared_at,
                )


def with_run_date(context: Context) -> Context:
    """Add `run_date` to Jinja's variables."""
    run = context["dag_run"]
    moment = run.logical_date or run.run_after
    return cast(Context, {**context, RUN_DATE: moment.strftime("%Y-%m-%d")})


@contextmanager
def explaining_templates(pipeline: str, places: Mapping[str, str]) -> Iterator[None]:
    """Raise AirflowFailException with our message if a template needs a missing variable: a retry cannot help."""
    asking = [f"'{text}' ({key})" for key, text in places.items() if "{{" in text or "{%" in text]
    try:
        yield
    except UndefinedError as error:
        raise AirflowFailException(
            f"pipeline '{pipeline}': {error}\n  found: in one of {listing(asking)}\n"
            f"  hint: a run that the API or an asset started may have no logical date, and then no ds; "
            f"{{{{ {RUN_DATE} }}}} is the day in every run, and graph-compiler submit --date 2013-01-01 gives a run "
            "a logical date"
        ) from None
