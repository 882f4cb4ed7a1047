"""The variables that a template uses."""

from __future__ import annotations

from jinja2 import Environment, TemplateSyntaxError
from jinja2.meta import find_undeclared_variables


def variables_in(text: str, templates: Environment) -> set[str]:
    """Return the variables of Airflow's context in a text; `templates` is the Dag's environment, with its filters.

    An invalid template has none: Airflow reports it, with its field, when it renders.
    """
    try:
        return find_undeclared_variables(templates.parse(text))
    except TemplateSyntaxError:
        return set()
