"""The commands that would submit a pipeline's tasks, as a shell reads them.

PYTHONPATH=/project/plugins spark-submit --master 'local[2]' main.py …/descriptor.json, with an option on each line
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from graph_compiler.deployment.documents.submission import PipelineSubmission, TaskSubmission
from graph_compiler.identifiers import listing

_NEXT = " \\\n"


def submit_text(found: PipelineSubmission) -> str:
    """Return all commands, in the order of the tasks."""
    return "\n\n".join("\n".join(_lines(task)) for task in found.tasks)


def _lines(task: TaskSubmission) -> Iterator[str]:
    yield f"{task.task}    connection {task.conn_id}"
    if task.secrets:
        yield f"  added to the environment: {listing(task.secrets)}"
    if task.problem is not None:
        yield "\n".join(f"  {line}" for line in task.problem.splitlines())
        return
    variables = [f"  {name}={shlex.quote(value)}" for name, value in task.environment]
    program, *words = task.command
    yield _NEXT.join([*variables, f"  {shlex.quote(program)}", *map(_indented, _arguments(words))])


def _indented(words: str) -> str:
    return f"    {words}"


def _arguments(words: list[str]) -> Iterator[str]:
    """Yield each option with its value, then the application with its arguments."""
    rest = [shlex.quote(word) for word in words]
    while len(rest) > 1 and rest[0].startswith("--"):
        option, value, *rest = rest
        yield f"{option} {value}"
    if rest:
        yield " ".join(rest)
