"""Operators and settings are written from the signatures by which they are read; the tables list only differences."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import cast

import pytest

from graph_compiler.declaration.operators import Filter, Operator
from graph_compiler.declaration.streams import DataStream
from graph_compiler.projects.yaml import vocabulary, written_operators
from graph_compiler.projects.yaml.forms import leaves, make_call, parameters
from graph_compiler.projects.yaml.vocabulary import OPERATIONS, snake
from graph_compiler.projects.yaml.written_operators import BEFORE, CALLS, FIELDS, VALUES, call_of, written_operator

WRITTEN = [kind for kind in leaves(Operator) if call_of(kind) in OPERATIONS]


def own_arguments(kind: type[Operator]) -> set[str]:
    """Return the parameters of an operator's call that are no stream and no setting."""
    operation = OPERATIONS[call_of(kind)]
    given = parameters(operation.of).values()
    return {
        parameter.name
        for number, parameter in enumerate(given)
        if parameter.annotation is not DataStream
        and (number == 0 or vocabulary.RENAMED.get(parameter.name, parameter.name) in operation.keys)
    }


def test_only_iterations_and_sources_have_no_yaml_step() -> None:
    assert {kind.__name__ for kind in leaves(Operator)} - {kind.__name__ for kind in WRITTEN} == {
        "IterationHead",
        "IterationTail",
        "PreviousVersion",
    }


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.__name__)
def test_every_argument_of_a_call_is_a_field_or_listed_in_a_table(kind: type[Operator]) -> None:
    named = {field.name for field in fields(kind)}
    unknown = {
        name for name in own_arguments(kind) if (kind, name) not in VALUES and FIELDS.get(name, name) not in named
    }
    assert not unknown, "call the field as the parameter, or say in a table where it comes from"


def test_the_tables_list_only_exceptions() -> None:
    assert all(call != snake(kind.__name__) and call in OPERATIONS for kind, call in CALLS.items())
    arguments = {name for kind in WRITTEN for name in own_arguments(kind)}
    assert set(FIELDS) <= arguments
    assert all(name in own_arguments(kind) for kind, name in VALUES)
    assert set(BEFORE) <= set(WRITTEN)


@dataclass(frozen=True, slots=True)
class Sprinkle:
    """An unknown operator; it is not an Operator, so that no other test finds it."""

    salt: str
    amounts: tuple[tuple[str, str], ...] = ()
    grains: int = 3
    wet: bool = False


def written(operator: Sprinkle) -> dict[str, object]:
    """Return it written as if it were one."""
    return written_operator(cast(Operator, operator), [])


def sprinkle(
    self: object, salt: str, *, amounts: Mapping[str, str] | None = None, grains: int = 3, wet: bool = False
) -> None:
    """Sprinkle."""


def test_a_new_operator_needs_no_extra_code(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**OPERATIONS, "sprinkle": make_call("sprinkle", sprinkle)}
    monkeypatch.setattr(written_operators, "OPERATIONS", known)
    assert written(Sprinkle("fine")) == {"sprinkle": "fine"}
    assert written(Sprinkle("fine", (("a", "1"),), 4, True)) == {
        "sprinkle": "fine",
        "amounts": {"a": "1"},
        "grains": 4,
        "wet": True,
    }


def test_an_operator_without_a_call_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="Sprinkle has no call in YAML"):
        written(Sprinkle("fine"))
    assert written_operator(Filter("a > 1"), []) == {"filter": "a > 1"}
