"""The variables that a template uses."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables

PARAMS = "params"


def variables_in(text: str, templates: Environment) -> set[str]:
    """Return the variables of Airflow's context in a text; `templates` is the Dag's environment, with its filters.

    An invalid template has none: Airflow reports it, with its field, when it renders.
    """
    try:
        return find_undeclared_variables(templates.parse(text))
    except TemplateSyntaxError:
        return set()


def parameters_in(text: str, templates: Environment) -> set[str]:
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
    for node in tree.find_all((nodes.Getattr, nodes.Getitem)):
        if not isinstance(node.node, nodes.Name) or node.node.name != PARAMS:
            continue
        if isinstance(node, nodes.Getattr):
            yield node.attr
        elif isinstance(node.arg, nodes.Const):
            yield node.arg.value
