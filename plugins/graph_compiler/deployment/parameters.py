"""A run's parameters: text that a person, the API or Jinja gave, as a value of its default's type."""

from __future__ import annotations

from collections.abc import Mapping

from graph_compiler.declaration.parameters import ParameterValue
from graph_compiler.errors import ParameterError
from graph_compiler.identifiers import did_you_mean, listing

_TRUTH = {"true": True, "false": False}


def parse_parameter(name: str, text: str, defaults: Mapping[str, ParameterValue]) -> ParameterValue:
    """Give the typed value; raises ParameterError for an unknown name or text that is not of the type."""
    if name not in defaults:
        hint = did_you_mean(name, defaults)
        raise ParameterError(
            f"there is no parameter '{name}'\n  allowed: {listing(defaults)}"
            + (f"\n  hint: {hint}" if hint else "")
        )
    default = defaults[name]
    try:
        if isinstance(default, bool):
            return _TRUTH[text.strip().lower()]
        return type(default)(text)
    except (KeyError, ValueError):
        allowed = "true or false" if isinstance(default, bool) else type(default).__name__
        raise ParameterError(f"parameter '{name}' is {text!r}\n  allowed: {allowed}") from None
