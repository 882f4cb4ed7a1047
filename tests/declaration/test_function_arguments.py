"""Values and parameters that are bound to a function's keywords."""

import pytest

from graph_compiler import Csv, InvalidPipelineError, StreamExecutionEnvironment, param
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import Operator, Transform
from graph_compiler.declaration.streams import DataStream
from graph_compiler.deployment.documents.wire import from_wire, to_wire

PARAMS = {"least": 3, "share": 0.5, "currency": "EUR"}


def priced(rows: object, least: float, currency: str = "EUR", *, strict: bool = False) -> object:
    return (rows, least, currency, strict)


@pytest.fixture
def orders() -> DataStream:
    env = StreamExecutionEnvironment("sales", params=PARAMS)
    return env.from_source(Csv("/in/orders.csv"), "orders")


def operator_of(stream: DataStream) -> Operator:
    last = stream.environment.pipeline().operators[-1]
    return last.operator


def test_values_and_parameters_are_bound_by_keyword(orders: DataStream) -> None:
    operator = operator_of(orders.transform(priced, least=param("least"), strict=True))
    assert isinstance(operator, Transform)
    assert operator.arguments == (("least", param("least")), ("strict", True))
    assert operator.load({"least": 7})("rows") == ("rows", 7, "EUR", True)
    assert operator.bound_parameters() == ("least",)


def test_the_order_of_keywords_does_not_matter(orders: DataStream) -> None:
    one = operator_of(orders.transform(priced, least=1, strict=True))
    assert one == operator_of(orders.transform(priced, strict=True, least=1))


def test_arguments_are_part_of_the_document() -> None:
    function = FunctionRef.of(priced)
    plain = Transform(function)
    bound = Transform(function, arguments=(("least", param("least")), ("strict", True)))
    wire = to_wire(plain)
    assert isinstance(wire, dict)
    assert "arguments" not in wire, "documents and fingerprints of before stay as they were"
    assert from_wire(Operator, wire) == plain
    assert from_wire(Operator, to_wire(bound)) == bound


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["this is priced(rows, least, currency, strict)", 'by keyword: least=param("least")']),
        ({"lest": 3}, ["binds 'lest', but its function is priced(rows, least, currency", "did you mean 'least'?"]),
        ({"least": "3"}, ["binds least to '3', and priced takes least: float", "a number"]),
        ({"least": param("currency")}, ["binds least to the parameter 'currency', which is 'EUR' by default"]),
        ({"least": 1, "strict": 1}, ["binds strict to 1, and priced takes strict: bool"]),
        ({"least": 1, "currency": "{{ ds }}"}, ["binds currency to the template", "param("]),
        ({"least": float("nan")}, ["binds least to nan", "a finite number"]),
        ({"least": [1]}, ["least=[1]", 'or param("name")']),
    ],
)
def test_unknown_arguments_of_a_function_are_refused_at_the_call(
    arguments: dict[str, object], words: list[str], orders: DataStream
) -> None:
    with pytest.raises(InvalidPipelineError) as refused:
        orders.transform(priced, **arguments)  # type: ignore[arg-type]  # that is the point
    for each in words:
        assert each in str(refused.value)
    assert __file__ in str(refused.value)


def test_an_undeclared_parameter_is_a_problem(orders: DataStream) -> None:
    orders.transform(priced, least=param("leest"))
    with pytest.raises(InvalidPipelineError) as refused:
        compile_pipeline(orders.environment.pipeline())
    assert "parameter 'leest' is not declared" in str(refused.value)
    assert "did you mean 'least'?" in str(refused.value)


def test_a_misspelled_argument_of_the_call_is_found(orders: DataStream) -> None:
    with pytest.raises(InvalidPipelineError, match="did you mean 'schema'"):
        orders.map_partitions(priced, shema="a INT")  # type: ignore[call-arg]  # misspelt
