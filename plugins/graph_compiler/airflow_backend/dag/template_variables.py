"""The variables that a template uses."""

from __future__ import annotations

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables


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
        tree = templates.parse(text)
    except TemplateSyntaxError:
        return set()
    by_dot = {
        node.attr
        for node in tree.find_all(nodes.Getattr)
        if isinstance(node.node, nodes.Name) and node.node.name == "params"
    }
    by_key = {
        node.arg.value
        for node in tree.find_all(nodes.Getitem)
        if isinstance(node.node, nodes.Name)
        and node.node.name == "params"
        and isinstance(node.arg, nodes.Const)
    }
    return by_dot | by_key
