"""What a template asks for."""

from __future__ import annotations

from jinja2 import Environment, TemplateSyntaxError
from jinja2.meta import find_undeclared_variables


def variables_in(text: str, templates: Environment) -> set[str]:
    """Return the variables of Airflow's context that a text names; `templates` is the Dag's, which knows the filters.

    A text that is no template at all names none: Airflow will say so, with the field, when it renders.
    """
    try:
        return find_undeclared_variables(templates.parse(text))
    except TemplateSyntaxError:
        return set()
