import pytest

from graph_compiler import Csv, InvalidPipelineError, StreamExecutionEnvironment
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.errors import FunctionNotImportableError


def module_level(rows: object) -> object:
    return rows


FIRST = module_level


def test_a_module_level_function_is_found_again_by_name() -> None:
    reference = FunctionRef.of(module_level)
    assert str(reference) == f"{__name__}:module_level"
    assert reference.load() is module_level
    assert len(reference.source_digest) == 64


def test_a_lambda_is_refused_with_its_operator_and_where_to_move_it(env: StreamExecutionEnvironment) -> None:
    flown = env.from_source(Csv("/in"), "in").filter("x").name("flown")
    with pytest.raises(InvalidPipelineError) as refusal:
        flown.transform(lambda rows: rows)
    *words, where = str(refusal.value).splitlines()
    assert words == [
        "pipeline 'sales' has 1 problem",
        "  after 'flown': transform cannot take this function: "
        "a lambda has no name; Spark imports functions by name, in another process",
        "    allowed: a function defined with `def` at the top level of an importable module",
        "    hint: move it to a module in pipelines/ and pass it by its name there",
    ]
    assert __file__ in where


def test_a_nested_function_is_refused() -> None:
    def nested(rows: object) -> object:
        return rows

    with pytest.raises(FunctionNotImportableError, match="defined inside another function or class"):
        FunctionRef.of(nested)


def test_a_function_of_a_dag_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_level, "__module__", "unusual_prefix_3f_flights")
    with pytest.raises(FunctionNotImportableError, match="defined in a Dag file"):
        FunctionRef.of(module_level)


def test_a_name_that_resolves_to_another_object_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "module_level", print)
    with pytest.raises(FunctionNotImportableError, match=":module_level' is a different object"):
        FunctionRef.of(FIRST)


def test_a_callable_object_is_refused() -> None:
    with pytest.raises(FunctionNotImportableError, match="is not a plain function"):
        FunctionRef.of(print)


def test_a_name_that_does_not_resolve_is_reported() -> None:
    with pytest.raises(FunctionNotImportableError, match=r"cannot import nowhere:clean"):
        FunctionRef(module="nowhere", name="clean", source_digest="").load()
