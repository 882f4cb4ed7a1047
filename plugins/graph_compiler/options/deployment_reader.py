"""Read the options of a deployment: key `options` in section `[graph_compiler]` of Airflow's configuration.

{"parallelism.default": 4, "staging.ttl": "2 d"}
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from graph_compiler.declaration.artifacts.artifact_options import SEPARATORS
from graph_compiler.errors import ConfigurationError, Problem
from graph_compiler.options.durations import as_text
from graph_compiler.options.modes import DeploymentOptions
from graph_compiler.options.reader import read_options

_EXAMPLE = '{"parallelism.default": 4}'


def parse_deployment_options(text: str, origin: str) -> DeploymentOptions:
    """Read a JSON object of options; `origin` is where it is set. Raises ConfigurationError with all problems."""
    twice: list[str] = []
    try:
        found = json.loads(text, object_pairs_hook=lambda pairs: _as_object(pairs, twice))
    except json.JSONDecodeError as error:
        problem = Problem(
            message=f"not valid JSON: {error.msg} at character {error.pos + 1}",
            allowed=f"an object: {_EXAMPLE}",
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
            yield Problem(
                message=f"option '{key}' is {json.dumps(value)}",
                allowed="a text, number or boolean",
            )


def _of_pipelines(plain: dict[str, str]) -> Iterator[Problem]:
    """Yield options that name files: they start at the folder of a pipeline's project."""
    for key in plain.keys() & SEPARATORS.keys():
        yield Problem(
            message=f"option '{key}' names files of one pipeline",
            allowed="in a pipeline only",
            hint="for all pipelines: pipeline.classpaths, or Spark's settings in spark_conf",
        )


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float)
