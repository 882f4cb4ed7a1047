"""Where the parameters of a pipeline come from, in a Dag of its own or in a task group of another one.

an argument of the task group    a value, a template, an XCom, or what the group is mapped over; nothing overrides it
a Param of the Dag               as for all tasks of the Dag: its default, or what the run was triggered with
neither                          the pipeline's default, or what the run was triggered with
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Any, cast

from airflow.sdk import Asset, Context, Param, TaskGroup
from airflow.sdk.definitions._internal.expandinput import MappedArgument  # Airflow has no public name for it
from airflow.sdk.exceptions import AirflowFailException

from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.parameters.parameter import ParameterValue, json_value
from graph_compiler.declaration.parameters.typed_value import SQL_TYPE, TypedValue, typed_value
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.run_parameters import check_parameters, parse_parameter
from graph_compiler.deployment.describe.templates import PARAMETER
from graph_compiler.deployment.documents.wire import digest, to_wire
from graph_compiler.errors import InvalidPipelineError, ParameterError, Problem
from graph_compiler.identifiers import did_you_mean, listing, shown

_ALLOWED = "text, an int, a float, a bool, a date, a template, an XCom, or what the group is mapped over"
_OF_A_DAG = "text, an int, a float or a bool"
_HINT = "the pipeline can declare a sql_type for it: then it may be a list, or NULL"
_LONGEST = 200
"""Characters of what a group is mapped over that are kept as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The parameters of a pipeline in one Dag, or in one task group of it.

    `literals` and `of_the_run` are the arguments of the task group: values, and what only a run knows. `params` are for
    the operators: what the Dag does not declare. `defaults` are all values that are known before a run. `run_date` is
    the day in `run_date_zone`. `assets` are those that the Dag's schedule names.
    """

    pipeline: Pipeline
    literals: Mapping[str, ParameterValue]
    of_the_run: Mapping[str, object]
    params: Mapping[str, Param]
    defaults: Mapping[str, ParameterValue]
    run_date_zone: str = "UTC"
    assets: tuple[Asset, ...] = ()

    def mapped_over(self, values: Mapping[str, ParameterValue]) -> str | None:
        """Return those of an instance's values over which its task group is mapped, as text; None if it is not.

        An instance has a number, which is that of another value if the list changes.
        """
        names = sorted(name for name, value in self.of_the_run.items() if isinstance(value, MappedArgument))
        if not names:
            return None
        text = ", ".join(f"{name} = {json.dumps(to_wire(values[name]), ensure_ascii=False)}" for name in names)
        return text if len(text) <= _LONGEST else f"values with the digest {digest(text)}"

    def changed_by(self, values: Mapping[str, ParameterValue]) -> Collection[str]:
        """Return the parameters that have another value in a run than is known before it.

        A Dag may declare a number or a day as text: values are compared with the types that they are bound with.
        """
        known = {**self.defaults, **dict(_typed(self.defaults, dict(self.pipeline.params)))}
        return [name for name, value in known.items() if values.get(name, value) != value]

    @classmethod
    def own(cls, pipeline: Pipeline) -> Arguments:
        """Return the parameters in the pipeline's own Dag, which declares them all."""
        defaults = dict(pipeline.params)
        return cls(pipeline=pipeline, literals={}, of_the_run={}, params={}, defaults=defaults)


def params_of(declared: StreamExecutionEnvironment | Pipeline) -> dict[str, Param]:
    """Return a pipeline's parameters as Params of a Dag, with default, title, description and checks."""
    pipeline = declared if isinstance(declared, Pipeline) else declared.pipeline()
    return {one.name: Param(json_value(one.default), **_of_airflow(one.keywords)) for one in pipeline.parameters}


def _of_airflow(keywords: Mapping[str, Any]) -> dict[str, Any]:
    return {word: said for word, said in keywords.items() if word != SQL_TYPE}


def arguments_in(group: TaskGroup, pipeline: Pipeline, given: Mapping[str, object]) -> Arguments:
    """Return the parameters of a pipeline in a group; raises InvalidPipelineError for arguments that cannot work."""
    values = {name: _value(value, dict(pipeline.params).get(name)) for name, value in given.items()}
    words = f"task group '{group.group_id}'"
    if problems := tuple(_problems(pipeline, values, words)):
        raise pipeline.placed(InvalidPipelineError(pipeline.name, problems))
    own = dict(pipeline.params)
    literals = dict(_typed({k: v for k, v in values.items() if _is_literal(v)}, own))
    of_the_run = {name: value for name, value in values.items() if name not in literals}
    declared = _declared(group)
    if group.dag.schedule is not None and (problems := tuple(_wrong_defaults(pipeline, declared, values))):
        raise pipeline.placed(InvalidPipelineError(pipeline.name, problems))
    usable = dict(_typed(declared, own)).keys()
    return Arguments(
        pipeline=pipeline,
        literals=literals,
        of_the_run=of_the_run,
        params={
            name: param for name, param in params_of(pipeline).items() if name not in declared and name not in values
        },
        defaults={
            name: cast(ParameterValue, literals.get(name, declared.get(name, default)))
            for name, default in own.items()
            if name in literals or (name not in of_the_run and (name not in declared or name in usable))
        },
    )


def _declared(group: TaskGroup) -> dict[str, object]:
    """Return the defaults of the Dag's params, and of `default_args` around the group; NOTSET for a required one."""
    found: dict[str, object] = {name: group.dag.params.get_param(name).value for name in group.dag.params}
    for inherited in (group.dag.default_args, group.default_args):
        for name, value in dict(inherited.get("params") or {}).items():
            found[name] = value.value if isinstance(value, Param) else value
    return found


def _wrong_defaults(
    pipeline: Pipeline, declared: Mapping[str, object], values: Mapping[str, object]
) -> Iterator[Problem]:
    """Find defaults of the Dag that a parameter cannot be: a scheduled run has them."""
    defaults = dict(pipeline.params)
    for name, value in declared.items():
        if name not in defaults or name in values:
            continue
        found = f"the Dag's param '{name}' is {shown(value)}"
        if (value is None or isinstance(value, list | dict)) and not isinstance(defaults[name], TypedValue):
            yield Problem(message=found, allowed=_OF_A_DAG, hint=_HINT)
        elif _is_literal(value):
            try:
                parse_parameter(name, _text(value), defaults)
            except ParameterError as error:
                yield Problem(message=f"{found}: {error}")


def check_params(pipeline: Pipeline, params: Mapping[str, object], arguments: Mapping[str, object]) -> None:
    """Raise AirflowFailException if a run's `params` have what no parameter can be: templates make text of it.

    `arguments` are those of the task group, which replace some of them, or are templates of others.
    """
    for name, default in pipeline.params:
        of_dag, is_typed = _param_of_dag(name, arguments), isinstance(default, TypedValue)
        value = default if of_dag is None else params.get(of_dag, default)
        is_none = value is None and (name in arguments or not is_typed)
        if is_none or (isinstance(value, list | tuple | dict) and not is_typed):
            hint = f"a param of the Dag that is named '{name}' can be NULL, without an argument" if is_typed else _HINT
            raise AirflowFailException(
                f"pipeline '{pipeline.name}': parameter '{name}' is {shown(value)}\n  allowed: {_OF_A_DAG}\n"
                f"  hint: it is the param '{of_dag}' of the Dag; {hint}"
            )


def _param_of_dag(name: str, arguments: Mapping[str, object]) -> str | None:
    """Return the param of the Dag whose value a parameter has; None if it has another value, or more than it."""
    if name not in arguments:
        return name
    given = arguments[name]
    found = PARAMETER.fullmatch(given.strip()) if isinstance(given, str) else None
    return None if found is None else str(found[1] or found[2])


def rendered_arguments(
    pipeline: str, rendered: Mapping[str, object], defaults: Mapping[str, ParameterValue]
) -> dict[str, ParameterValue]:
    """Return the values of a run; raises AirflowFailException for anything that no parameter can be.

    Only a parameter with a type in SQL can be a list or None: text would be made of it for another.
    """
    values = {name: _value(value) for name, value in rendered.items()}
    for name, value in values.items():
        is_typed = isinstance(defaults.get(name), TypedValue)
        if not isinstance(value, str | int | float) and not (is_typed and isinstance(value, list | None)):
            raise AirflowFailException(
                f"pipeline '{pipeline}': parameter '{name}' is {shown(value)}\n"
                "  allowed: text, an int, a float, a bool, a date, a list or None\n"
                "  hint: it is an argument of the task group; a template or an XCom gave it this value"
            )
    return cast(dict[str, ParameterValue], values)


def with_arguments(context: Context, values: Mapping[str, ParameterValue]) -> Context:
    """Return Jinja's variables in which `params` has the arguments of the task group."""
    if not values:
        return context
    return cast(
        Context,
        {**context, "params": {**context["params"], **{name: json_value(value) for name, value in values.items()}}},
    )


def _problems(pipeline: Pipeline, values: Mapping[str, object], group: str) -> Iterator[Problem]:
    defaults = dict(pipeline.params)
    literals: dict[str, ParameterValue] = {}
    for name, value in values.items():
        if name not in defaults:
            yield Problem(
                message=f"{group} has argument '{name}', which is no parameter",
                allowed=listing(defaults),
                hint=did_you_mean(name, defaults),
            )
        elif _is_literal(value):
            try:
                literals[name] = parse_parameter(name, _text(value), defaults)
            except ParameterError as error:
                yield Problem(message=f"{group}: {error}")
        elif not isinstance(value, str) and not _is_resolved_later(value):
            yield Problem(message=f"{group}: argument '{name}' is {shown(value)}", allowed=_ALLOWED)
    try:
        check_parameters(pipeline, literals)
    except ParameterError as error:
        yield Problem(message=f"{group}: {error}")


def _typed(known: Mapping[str, object], defaults: Mapping[str, ParameterValue]) -> Iterator[tuple[str, ParameterValue]]:
    """Yield the values that are known before a run: none of a required param, and none of a wrong type."""
    for name, value in known.items():
        if _is_literal(value) or isinstance(defaults.get(name), TypedValue):
            with suppress(ParameterError):
                yield name, parse_parameter(name, _text(value), defaults)


def _value(value: object, default: object = None) -> object:
    """Return an argument as JSON has it, and that of a typed parameter with its type, if it fits."""
    if isinstance(default, TypedValue) and not isinstance(value, str) and not _is_resolved_later(value):
        with suppress(ValueError):
            return typed_value(default.kind, value)
    return value.isoformat() if isinstance(value, date) else value


def _text(value: object) -> str:
    """Return a value as text that `parse_parameter` reads."""
    if isinstance(value, TypedValue):
        return json.dumps(value.json)
    return json.dumps(value) if value is None or isinstance(value, list) else str(value)


def _is_literal(value: object) -> bool:
    is_template = isinstance(value, str) and any(mark in value for mark in ("{{", "{%", "{#"))
    return isinstance(value, str | int | float | TypedValue) and not is_template


def _is_resolved_later(value: Any) -> bool:
    """Whether Airflow resolves it in a run: an XCom, or what a task group is mapped over."""
    return callable(getattr(value, "resolve", None)) and callable(getattr(value, "iter_references", None))
