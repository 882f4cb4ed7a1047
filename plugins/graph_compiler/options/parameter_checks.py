"""Check values of parameters against their JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from graph_compiler.declaration.parameters.parameter import Parameter, ParameterValue, json_value
from graph_compiler.errors import Problem

_WORDS = {
    "type": "a value of type {}",
    "enum": "one of {}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "text in which {} is found",
    "format": "a {}",
}


def value_problems(
    parameters: Iterable[Parameter], values: Mapping[str, ParameterValue], what: str = "is"
) -> Iterator[Problem]:
    """Yield values that violate their parameters' schemas; parameters without a value are skipped."""
    for parameter in parameters:
        if parameter.name not in values:
            continue
        value = json_value(values[parameter.name])
        if allowed := _allowed_by(parameter, value):
            key = f"params.{parameter.name}"
            yield Problem(key=key, message=f"{what} {value!r}", allowed=allowed)


def default_problems(parameters: Iterable[Parameter]) -> Iterator[Problem]:
    """Yield invalid schemas, and defaults that violate their schemas."""
    described = [parameter for parameter in parameters if not parameter.is_plain]
    if not described:
        return
    # Imported when called, as below: a Dag processor with only plain parameters does not need it.
    from jsonschema import Draft202012Validator, SchemaError

    checked: list[Parameter] = []
    for parameter in described:
        try:
            Draft202012Validator.check_schema(parameter.keywords)
            checked.append(parameter)
        except SchemaError as error:
            where = ".".join(str(part) for part in error.absolute_path)
            key = f"params.{parameter.name}"
            yield Problem(key=key, message=f"its '{where}' is wrong: {error.message}")
    defaults = {parameter.name: parameter.default for parameter in checked}
    yield from value_problems(checked, defaults, what="its default is")


def _allowed_by(parameter: Parameter, value: object) -> str | None:
    """Return what a schema allows as text, None if it allows the value."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(parameter.keywords, format_checker=Draft202012Validator.FORMAT_CHECKER)
    errors = list(validator.iter_errors(value))
    return "; ".join(_words(error.validator, error.validator_value) for error in errors) or None


def _words(keyword: str, wanted: object) -> str:
    shown = (" or " if keyword == "type" else ", ").join(map(str, wanted)) if isinstance(wanted, list) else str(wanted)
    return _WORDS.get(keyword, f"{keyword} {{}}").format(shown)
