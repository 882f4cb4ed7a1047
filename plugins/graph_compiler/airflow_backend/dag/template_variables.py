"""The variables that a template uses."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables

PARAMS = "params"
# What a first template needs is made here, in the process from which Airflow forks one for each Dag file.
Environment(extensions=["jinja2.ext.do"]).parse("")


def variables_in(text: str, templates: Environment) -> set[str]:
    """Return the variables of Airflow's context in a text; `templates` is the Dag's environment, with its filters.

    An invalid template has none: Airflow reports it, with its field, when it renders.
    """
    try:
        return find_undeclared_variables(templates.parse(text))
    except TemplateSyntaxError:
        return set()


def parameters_of_text(text: str, templates: Environment) -> set[str]:
    """Return the parameters in a text, also within expressions: `{{ params.x | lower }}`, `{{ params['x'] }}`."""
    try:
        return set(_parameters(templates.parse(text)))
    except TemplateSyntaxError:
        return set()


def only_parameters_in(text: str, templates: Environment) -> set[str] | None:
    """Return the parameters in a text that uses nothing else, None for any other text."""
    try:
        tree = templates.parse(text)
    except TemplateSyntaxError:
        return None
    named = list(_parameters(tree))
    used = [node for node in tree.find_all(nodes.Name) if node.name == PARAMS]
    is_only = find_undeclared_variables(tree) <= {PARAMS} and len(used) == len(named)
    return set(named) if is_only else None


def _parameters(tree: nodes.Template) -> Iterator[str]:
    for by_dot in tree.find_all(nodes.Getattr):
        if isinstance(by_dot.node, nodes.Name) and by_dot.node.name == PARAMS:
            yield by_dot.attr
    for by_key in tree.find_all(nodes.Getitem):
        is_named = isinstance(by_key.node, nodes.Name) and by_key.node.name == PARAMS
        if is_named and isinstance(by_key.arg, nodes.Const):
            yield by_key.arg.value
