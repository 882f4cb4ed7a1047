"""How an execution was submitted, kept beside its descriptor so that it can be replayed; how tasks would be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """The command as it was run, and as it may be shown; `environment` has the variables added to the worker's own.

    `host` is the worker it was run on.
    """

    command: tuple[str, ...]
    shown: str
    environment: tuple[tuple[str, str], ...]
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSubmission:
    """How a task would be submitted: the words of its command, with passwords masked, and the added variables.

    `secrets` are the references to the values that would be added to the environment. If the task would be refused
    before submission, there is no command, but a problem.
    """

    task: str
    conn_id: str
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSubmission:
    """How each task of a pipeline would be submitted, in an order in which they can run."""

    pipeline: str
    tasks: tuple[TaskSubmission, ...]
