"""Problems of the resources of operators and slot sharing groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from graph_compiler.declaration.call_checks import problems_at
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.resources.resource_spec import SPEC_FORM, amount_words, exceeding
from graph_compiler.declaration.transformations import PhysicalTransformation, problem_at
from graph_compiler.errors import Problem
from graph_compiler.identifiers import listing


def resource_profiles(pipeline: Pipeline) -> Iterator[Problem]:
    """Find slot sharing groups that Spark would not start, each at its first declaration."""
    seen = []
    for operator in pipeline.operators:
        group = operator.settings.resource_profile
        if group is None or group in seen:
            continue
        seen.append(group)
        for problem in problems_at(operator, group):
            words = f"in its slot sharing group '{group.name}' {problem.message}"
            yield replace(problem, message=words)


def differing_profiles(pipeline: Pipeline) -> Iterator[Problem]:
    """Find groups that two operators declare differently; a name alone does not declare a group."""
    first: dict[str, PhysicalTransformation] = {}
    for operator in pipeline.operators:
        group = operator.settings.resource_profile
        if group is None or group.is_only_a_name:
            continue
        other = first.setdefault(group.name, operator)
        if other.settings.resource_profile != group:
            yield problem_at(
                operator,
                f"it declares slot sharing group '{group}', but "
                f"'{other.name}' declares '{other.settings.resource_profile}' ({other.declared_at})",
                hint="declare a group once and refer to it by name, or use a different name for the second",
            )


def resources(pipeline: Pipeline) -> Iterator[Problem]:
    """Find resources that are not numbers, and minimums over the preferred ones (Flink's validateMinAndPreferred)."""
    for operator in pipeline.operators:
        settings = operator.settings
        least, preferred = settings.min_resources, settings.preferred_resources
        specs = dict.fromkeys(spec for spec in (least, preferred) if spec is not None)
        if wrong := [problem.message for spec in specs for problem in spec.problems()]:
            yield problem_at(operator, f"of its resources {listing(wrong)}", allowed=SPEC_FORM)
        elif (least is None) != (preferred is None):
            which = "minimum" if least is None else "preferred"
            yield problem_at(
                operator,
                f"its {which} resources are unknown, the others are {least or preferred}",
                allowed="both, or neither",
            )
        elif least and preferred and (over := exceeding(least, preferred.amounts())):
            yield problem_at(
                operator,
                f"it needs at least {amount_words(over)}, but prefers {preferred}",
                allowed="preferred resources of at least the minimum",
            )
