"""pydantic's errors as our messages, each with its key, its line and its column."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from inspect import isclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import Tag, ValidationError
from pydantic_core import ErrorDetails

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.connectors.connector import sink_mode_meant
from graph_compiler.declaration.operators.combining import join_type_meant
from graph_compiler.declaration.refusals.foreign_names import foreign_name
from graph_compiler.errors import Problem, SourceLocation
from graph_compiler.identifiers import did_you_mean, listing
from graph_compiler.projects.yaml.forms import TAG, Form, shown_value
from graph_compiler.projects.yaml.pipeline_spec import PipelineSpec
from graph_compiler.projects.yaml.synonyms import key_meant
from graph_compiler.projects.yaml.tree import MAX_PROBLEMS, Node, Unclear, node_at, place_of, plain_tree, written_at
from graph_compiler.projects.yaml.vocabulary import (
    CONNECTORS,
    INLINE_FORMS,
    OPERATORS,
    REFUSED,
    SOURCE_FORMS,
    STEP_FORMS,
    WINDOWS,
)

KeyPath = tuple[str | int, ...]
_KINDS = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "dict": "a mapping",
    "model": "a mapping",
}

_NUMBERS = {_KINDS["int"], _KINDS["float"]}
_PLAIN = ("string", "int", "float", "bool")
_MISSING = "is missing"
_ANY = "text, a number, true or false"


def refusals(error: ValidationError, tree: Node, file: str) -> dict[KeyPath, Problem]:
    """Return one problem for each invalid key, in the order of the file."""
    data = plain_tree(tree)
    found: dict[KeyPath, list[ErrorDetails]] = {}
    for details in error.errors(include_url=False):
        found.setdefault(_path(details["loc"], data), []).append(details)
    paths = sorted(found, key=lambda path: place_of(tree, path))[:MAX_PROBLEMS]
    problems = {path: _problem(path, found[path], tree, file) for path in paths}
    meant = {(*path[:-1], problem.hint) for path, problem in problems.items()}
    # A key that is missing because it is misspelled is reported once.
    return {
        path: problem
        for path, problem in problems.items()
        if (*path[:-1], f"did you mean '{path[-1] if path else ''}'?") not in meant or problem.message != _MISSING
    }


def problem_in(tree: Node, file: str, path: KeyPath, message: str, **words: str | None) -> Problem:
    """Return the problem at a path of the file."""
    place = place_of(tree, path)
    return Problem(
        message=message,
        operator=_operator(tree, path),
        key=written_at(path) or None,
        declared_at=SourceLocation(file, place.line),
        column=place.column,
        **words,
    )


def _operator(tree: Node, path: KeyPath) -> str | None:
    """Return the name of the source, step or sink of a path."""
    section, key = (*path, "", "")[:2]
    if section in ("sources", "sinks"):
        return str(key) or None
    node = node_at(tree, path[:2]) if section == "steps" and len(path) > 1 else None
    named = node.value.get("name") if node and isinstance(node.value, dict) else None
    return named.value if named and isinstance(named.value, str) else None


def _path(location: Iterable[str | int], data: object) -> KeyPath:
    """Return a path without its parts that name a type and are not in the file."""
    path: list[str | int] = []
    for part in location:
        is_key = isinstance(data, dict) and part in data
        is_item = isinstance(data, list) and isinstance(part, int)
        if is_key or is_item:
            data = data[part]  # type: ignore[index]  # just checked
            path.append(part)
        elif isinstance(data, dict) and not str(part).startswith(TAG):
            path.append(part)
    return tuple(path)


def _problem(path: KeyPath, errors: list[ErrorDetails], tree: Node, file: str) -> Problem:
    first = errors[0]
    kind, key = first["type"], path[-1] if path else ""
    value = first.get("input")

    def say(message: str, allowed: str | None = None, hint: str | None = None) -> Problem:
        return problem_in(tree, file, path, message, allowed=allowed, hint=hint)

    if kind == "missing":
        return say(_MISSING)
    if kind == "extra_forbidden":
        known = _known(first["loc"])
        # If a step's call is misspelled, another key (key_by) may be mistaken for the call.
        calls = STEP_FORMS if path[:1] == ("steps",) and len(path) == len(("steps", 0, "key")) else ()
        hint = (
            _of_package({key: value})
            or _of_connector(str(key), known)
            or key_meant(str(key), known, value)
            or _as_sink(key, known)
            or did_you_mean(str(key), [*known, *calls])
        )
        return say(f"unknown key '{key}'", listing(known), hint)
    if kind == "union_tag_not_found":
        return _no_kind(path, value, tree, file)
    if kind == "literal_error":
        return _no_choice(path, first, tree, file)
    if kind == "refused":
        allowed_words = first["ctx"]["allowed"]
        kinds = [_KINDS["string"], *(word for word in _NUMBERS if word in allowed_words)]
        return say(first["msg"], allowed_words, _of_package(value) or _how_to_write(value, kinds))
    allowed = [_KINDS.get(details["type"].partition("_")[0]) for details in errors]
    words = list(dict.fromkeys(word for word in allowed if word))
    subject = "" if path else "the file "
    any_of = _ANY if len(words) == len(_PLAIN) else " or ".join(words)
    is_cron = path == ("schedule",) and isinstance(value, str)
    hint = f"schedule: {{cron: {value!r}}}" if is_cron else _hint(value, words)
    return say(f"{subject}is {shown_value(value)}", any_of or first["msg"], hint)


def _no_choice(path: KeyPath, error: ErrorDetails, tree: Node, file: str) -> Problem:
    value, expected = error["input"], error["ctx"]["expected"]
    if expected == "True":
        hint = "leave the key out instead" if value is False else _hint(value, [_KINDS["bool"]])
        if path[-1] == "deterministic" and value is False:
            hint = "of a function that may give other rows each time: deterministic_function: false"
        return problem_in(tree, file, path, f"is {shown_value(value)}", allowed="true", hint=hint)
    names = expected.replace(" or ", ", ").replace("'", "").split(", ")
    meant = {"how": join_type_meant, "mode": sink_mode_meant}
    near = meant.get(str(path[-1])) or partial(did_you_mean, known=names)
    hint = near(value) if isinstance(value, str) else None
    return problem_in(tree, file, path, f"is {shown_value(value)}", allowed=", ".join(names), hint=hint)


def _no_kind(path: KeyPath, value: object, tree: Node, file: str) -> Problem:
    noun, known = _kinds_at(path)
    if not isinstance(value, dict):
        message, allowed = f"is {shown_value(value)}", f"a mapping with a key for {noun}"
        return problem_in(tree, file, path, message, allowed=allowed, hint=_template_hint(value))
    there = [str(key) for key in value if key in known]
    if there:
        message = f"there are {len(there)} keys for {noun}: {listing(there)}"
        return problem_in(tree, file, path, message, allowed="one")
    # A key of other steps, such as `name`, is not a misspelled one.
    settings = {key for form in STEP_FORMS.values() for key in _keys_of(form)} - set(known)
    hints = (
        key_meant(str(key), known)
        if key in settings
        else _of_library(str(key), known) or key_meant(str(key), known) or did_you_mean(str(key), known)
        for key in value
    )
    return problem_in(
        tree,
        file,
        path,
        f"there is no key for {noun}; found {listing(map(str, value)) if value else 'an empty mapping'}",
        allowed=", ".join(known),
        hint=next((hint for hint in (_of_package(value), *hints) if hint), None),
    )


def _of_package(value: object) -> str | None:
    """Return why a package's kind has no form, if a mapping uses its key."""
    keys = [key for key in value if key in REFUSED] if isinstance(value, dict) else []
    return f"'{keys[0]}' of a package: {REFUSED[keys[0]]}" if keys else None


def _as_sink(key: object, known: Collection[str]) -> str | None:
    """Return the form of a connector that is a key of the sink itself."""
    is_one = key in CONNECTORS and "sink_to" in known
    return f"sink_to: {{{key}: …}}" if is_one else None


def _of_connector(key: str, known: Collection[str]) -> str | None:
    """Return why a connector does not have the key of others; `known` are its own keys."""
    kinds = (CONNECTORS[name].of for name in known if name in CONNECTORS)
    return next((kind.hints.get(key) for kind in kinds if isclass(kind) and issubclass(kind, Connector)), None)


def _of_library(key: str, known: Collection[str]) -> str | None:
    """Return our keys for a name of another library, or what to do instead; None if a known key is not for it."""
    foreign = foreign_name(key)
    if foreign is None:
        return None
    named = re.findall(r"(\w+)\(", " ".join(foreign.code))
    calls = dict.fromkeys(call for call in named if call in known)
    here = f"here it is {listing(calls)}" if calls else foreign.hint
    return f"{key} is {foreign.whose}: {here}" if calls or not named else None


def _kinds_at(path: KeyPath) -> tuple[str, list[str]]:
    if path[:1] == ("steps",) and len(path) == 2:
        return "an operator", list(STEP_FORMS)
    if path[:1] == ("sources",) and len(path) == 2:
        return "a connector", list(SOURCE_FORMS)
    if path[-1] in ("sink_to", "from_source", "from_target"):
        return "a connector", list(CONNECTORS)
    if path[-1] == "apply":
        return "an operator of a package", list(OPERATORS)
    if path[-1] in ("window", "window_all"):
        return "a window", list(WINDOWS)
    return "a way to distribute rows", list(INLINE_FORMS)


def _known(location: Sequence[str | int]) -> list[str]:
    """Return the keys of the form that has the last one of a pydantic path."""
    kind: Any = PipelineSpec
    for part in location[:-1]:
        kind = _below(kind, part)
    return _keys_of(next(one for one in _members(kind) if isclass(one) and issubclass(one, Form)))


def _below(kind: Any, part: str | int) -> Any:
    """Return the type that a part of a pydantic path leads to: a union's kind by its tag, a key, or an item."""
    for one in _members(kind):
        if Tag(str(part)) in getattr(one, "__metadata__", ()):
            return one
    for one in _members(kind):
        if isclass(one) and issubclass(one, Form):
            return next(f.annotation for name, f in one.model_fields.items() if part == (f.alias or name))
        if get_origin(one) in (dict, list):
            return get_args(one)[-1]
    raise LookupError(part)


def _members(kind: Any) -> list[Any]:
    """Return the types of a union, also of one in a union, each also without what it is annotated with."""
    if get_origin(kind) in (Union, UnionType):
        return [one for part in get_args(kind) for one in _members(part)]
    return [kind, *_members(get_args(kind)[0])] if get_origin(kind) is Annotated else [kind]


def _keys_of(form: type[Form]) -> list[str]:
    return [field.alias or name for name, field in form.model_fields.items()]


def _hint(value: object, allowed: list[str]) -> str | None:
    if isinstance(value, Unclear):
        return _how_to_write(value, allowed)
    if _KINDS["string"] in allowed and isinstance(value, int | float):
        return "write it in quotes"
    if _KINDS["bool"] in allowed and isinstance(value, str):
        return f"{value!r} is text in YAML 1.2"
    return _template_hint(value)


def _how_to_write(value: object, allowed: list[str]) -> str | None:
    """Return the accepted forms of a number whose text is not that of its value, also of one in a list."""
    items = value if isinstance(value, list) else [value]
    if (number := next((item for item in items if isinstance(item, Unclear)), None)) is None:
        return None
    is_text, plain = _KINDS["string"] in allowed, number.as_number
    if not _NUMBERS & set(allowed):
        return "write it in quotes"
    if plain is None:
        keeps = "write it in quotes; a parameter with sql_type: DECIMAL(p, s) keeps all its digits"
        return keeps if is_text else None
    return f"write {plain}, or '{number.text}' in quotes as text" if is_text else f"write {plain}"


def _template_hint(value: object) -> str | None:
    is_braces = isinstance(value, dict) and len(value) == 1 and list(value.values()) == [None]
    return "a value that begins with {{ must be in quotes" if is_braces else None
