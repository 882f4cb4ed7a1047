"""Read options: a pipeline's own, over those of the deployment, over the defaults of the model.

read_options([("execution.batch-shuffle-mode", "ALL_EXCHANGES_BLOCKING")])
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from enum import StrEnum
from typing import get_args

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from graph_compiler.declaration.artifacts.artifact_options import SEPARATORS
from graph_compiler.errors import ConfigurationError, Problem
from graph_compiler.identifiers import did_you_mean
from graph_compiler.options.durations import as_text, format_duration
from graph_compiler.options.flink_options import class_path_problems, why_without_meaning
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import NO_DEPLOYMENT_OPTIONS, DeploymentOptions
from graph_compiler.options.spark_settings import is_spark_setting, refused_settings

_TYPO = 0.94
"""How similar an unknown key must be to one of ours to be a misspelling of it, rather than a key of Flink's."""
_SHOWN, _NEAR = 5, 0.6
"""How many of our keys are listed if a key is unknown, and how similar they must be; all are too many to read."""
_ALL = "graph-compiler options lists all"

FIELDS: Mapping[str, str] = {str(field.alias): name for name, field in PipelineOptions.model_fields.items()}
"""The names of the model's fields, by key."""


def read_options(
    config: Sequence[tuple[str, str]], deployment: DeploymentOptions = NO_DEPLOYMENT_OPTIONS
) -> tuple[PipelineOptions, tuple[Problem, ...]]:
    """Check (key, value) pairs over the deployment's; return the defaults and the problems if there are any."""
    own = dict(config)
    merged = {**dict(deployment.values), **own}
    try:
        options = PipelineOptions.model_validate(
            {key: value for key, value in merged.items() if not is_spark_setting(key)},
            by_alias=True,
            by_name=False,  # the names of fields are no keys
        )
    except ValidationError as error:
        problems = tuple(_problem(str(found["loc"][0]), found["msg"], found["input"]) for found in error.errors())
    else:
        problems = _disagreements(options, own, deployment)
    class_path = class_path_problems(str(merged.get("pipeline.classpaths", "")))
    problems = (*problems, *class_path, *refused_settings(config))
    return (PipelineOptions(), problems) if problems else (options, ())


def _disagreements(
    options: PipelineOptions, own: Mapping[str, str], deployment: DeploymentOptions
) -> tuple[Problem, ...]:
    """Yield combinations of options that contradict each other."""
    first, longest = options.exponential_delay_initial, options.exponential_delay_maximum
    if first <= longest:
        return ()
    fields = PipelineOptions.model_fields
    initial, maximum = (str(fields[name].alias) for name in ("exponential_delay_initial", "exponential_delay_maximum"))
    inherited = [key for key, _ in deployment.values if key in (initial, maximum) and key not in own]
    problem = Problem(
        message=f"option '{initial}' is {format_duration(first)}, but '{maximum}' is only {format_duration(longest)}",
        allowed=f"'{initial}' of at most {format_duration(longest)}, or a longer '{maximum}'",
        hint=f"'{inherited[0]}' comes from the deployment: {deployment.origin}" if inherited and own else None,
    )
    return (problem,)


def _problem(key: str, reason: str, value: object) -> Problem:
    if key not in FIELDS:
        return _unknown(key)
    field = PipelineOptions.model_fields[FIELDS[key]]
    kinds = get_args(field.annotation) or (field.annotation,)
    if isinstance(kind := kinds[0], type) and issubclass(kind, StrEnum):
        values = [member.value for member in kind]
        return Problem(
            message=f"option '{key}' is {value!r}", allowed=", ".join(values), hint=did_you_mean(str(value), values)
        )
    return Problem(message=f"option '{key}' is {value!r}", allowed=allowed_words(field, reason))


def _unknown(key: str) -> Problem:
    is_typo = bool(get_close_matches(key, FIELDS, 1, _TYPO))
    if not is_typo and (hint := why_without_meaning(key)):
        return Problem(message=f"option '{key}' is a Flink option that is not supported here", hint=hint)
    near = ", ".join(get_close_matches(key, FIELDS, _SHOWN, _NEAR))
    return Problem(
        message=f"there is no option '{key}'",
        allowed=f"{near} and others; {_ALL}" if near else _ALL,
        hint=did_you_mean(key, FIELDS),
    )


_KINDS: Mapping[str, str] = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "timedelta": "a duration, as 10 s",
    "str": "a name",
}
_BOUNDS: Mapping[str, str] = {"ge": "from", "gt": "over", "le": "to"}


def allowed_words(field: FieldInfo, reason: str) -> str:
    """Return what is allowed: `a whole number, from 1 to 32768`; `reason` is pydantic's, or that of our check."""
    _, separator, own = reason.partition("allowed: ")
    if separator:
        return own
    words = next(words for kind, words in _KINDS.items() if kind in str(field.annotation))
    limits = [
        f"{word} {_shown(getattr(bound, name))}"
        for name, word in _BOUNDS.items()
        for bound in field.metadata
        if hasattr(bound, name)
    ]
    return ", ".join([words, " ".join(limits)] if limits else [words])


def _shown(bound: object) -> str:
    return format_duration(bound) if isinstance(bound, timedelta) else str(bound)


# Read the options of a deployment: key `options` in section `[graph_compiler]` of Airflow's configuration.
#
# {"parallelism.default": 4, "staging.ttl": "2 d"}

_SAVEPOINT = "execution.savepoint.path"
_EXAMPLE = '{"parallelism.default": 4}'


def parse_deployment_options(text: str, origin: str) -> DeploymentOptions:
    """Read a JSON object of options; `origin` is where it is set. Raises ConfigurationError with all problems."""
    twice: list[str] = []
    try:
        found = json.loads(text, object_pairs_hook=lambda pairs: _as_object(pairs, twice))
    except json.JSONDecodeError as error:
        problem = Problem(
            message=f"not valid JSON: {error.msg} at character {error.pos + 1}", allowed=f"an object: {_EXAMPLE}"
        )
        raise ConfigurationError(origin, [problem]) from None
    except RecursionError:
        problem = Problem(message="nested too deeply", allowed=f"an object: {_EXAMPLE}")
        raise ConfigurationError(origin, [problem]) from None
    if not isinstance(found, dict):
        problem = Problem(message=f"it is {text.strip()}", allowed=f"an object: {_EXAMPLE}")
        raise ConfigurationError(origin, [problem])
    plain = {key: as_text(value) for key, value in found.items() if _is_plain(value)}
    again = [Problem(message=f"option '{key}' is set twice", allowed="once") for key in twice]
    problems = [*again, *_odd(found), *_of_pipelines(plain), *read_options(tuple(plain.items()))[1]]
    if problems:
        raise ConfigurationError(origin, problems)
    return DeploymentOptions(values=tuple(sorted(plain.items())), origin=origin)


def _as_object(pairs: list[tuple[str, object]], twice: list[str]) -> dict[str, object]:
    """Return the pairs as an object, and record duplicate keys."""
    counts = Counter(key for key, _ in pairs)
    twice.extend(key for key, count in counts.items() if count > 1)
    return dict(pairs)


def _odd(found: dict[str, object]) -> Iterator[Problem]:
    for key, value in found.items():
        if not _is_plain(value):
            yield Problem(message=f"option '{key}' is {json.dumps(value)}", allowed="a text, number or boolean")


def _of_pipelines(plain: dict[str, str]) -> Iterator[Problem]:
    """Yield options that name what only one pipeline has; files start at the folder of its project."""
    for key in plain.keys() & {_SAVEPOINT}:
        yield Problem(message=f"option '{key}' names the savepoint of one pipeline", allowed="in a pipeline only")
    for key in plain.keys() & SEPARATORS.keys():
        yield Problem(
            message=f"option '{key}' names files of one pipeline",
            allowed="in a pipeline only",
            hint="for all pipelines: pipeline.classpaths, or Spark's settings in spark_conf",
        )


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float)
