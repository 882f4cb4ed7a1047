from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import cast

import pytest

from graph_compiler import extensions
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import (
    Connector,
    Csv,
    Files,
    FunctionSink,
    FunctionSource,
    Jdbc,
    Range,
    Secret,
    Table,
    Values,
)
from graph_compiler.declaration.operators import Filter, Operator
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.describe.templates import fill_places, find_places
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    OperatorDescriptor,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.report import Outcome
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.wire import Json, from_wire, to_wire
from graph_compiler.errors import DescriptorError, ExtensionError
from pipelines.flights import env as flights
from tests.conftest import SHUFFLE_MODES, with_options
from tests.harness.registered_kinds import register

FILTER = cast(dict[str, Json], to_wire(Filter("x")))


def modules_function(spark: object) -> object:
    return spark


def test_a_value_is_restored_with_its_leaf_type() -> None:
    assert from_wire(Operator, to_wire(Filter("x > 0", "no"))) == Filter("x > 0", "no")


def modules_sink(rows: object, run: object) -> None:
    """Write nothing."""


CONNECTORS = (
    Csv("/in", header=False, options={"sep": ";", "key": Secret("c", "k")}, schema="a INT"),
    Files("/in", format="avro"),
    Files(["/in/a", "/in/b"], format="avro"),
    Jdbc(Secret("c", "url"), table="t", user="u", password=Secret("c"), lower_bound="x", upper_bound=9),
    Values([("a", 1, 0.5, True, None)], "a STRING, b INT, c DOUBLE, d BOOLEAN, e DATE"),
    Range(0, 9),
    Table("a.b", on_schema_change="ignore"),
    FunctionSource(modules_function),
    FunctionSink(modules_sink),
)


@pytest.mark.parametrize("connector", CONNECTORS, ids=lambda c: type(c).__name__)
def test_a_connector_is_serialized_without_its_secrets(connector: Connector) -> None:
    assert from_wire(Connector, to_wire(connector)) == connector


def test_a_union_accepts_any_of_its_types() -> None:
    document = cast(dict[str, Json], to_wire(Jdbc("u", table="t")))
    with pytest.raises(DescriptorError, match=r"Connector.password: found 3; allowed: str or Secret"):
        from_wire(Connector, document | {"password": 3})


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"type": "Fliter"}, r"Operator: found type 'Fliter'; allowed: \['Aggregate'"),
        (
            {"type": "Transform", "function": None},
            r"a Transform has the fields \['arguments', 'attributes', 'deterministic', 'function'\]; "
            r"these differ: \['attributes', 'deterministic'\]",
        ),
        (FILTER | {"condition": 3}, r"Operator.condition: found 3; allowed: str"),
        ([], r"Operator: found \[\]; allowed: an object with the type of a Operator"),
    ],
)
def test_mismatched_values_are_refused_with_their_place(document: Json, words: str) -> None:
    with pytest.raises(DescriptorError, match=words):
        from_wire(Operator, document)


@pytest.mark.parametrize("mode", SHUFFLE_MODES)
def test_every_region_survives_serialization(mode: str) -> None:
    for region in describe_regions(compile_pipeline(with_options(flights.pipeline(), shuffle_mode=mode))):
        assert from_wire(RegionDescriptor, to_wire(region)) == region


def test_another_version_is_refused() -> None:
    region = describe_regions(compile_pipeline(flights.pipeline()))[0]
    attempt = ExecutionAttempt(execution_id="e", attempt_number=0)
    task = TaskDeploymentDescriptor(
        version=VERSION,
        identity=RunIdentity.own(region.pipeline, "r"),
        region=region,
        attempt=attempt,
        staging_root="/s",
        parameters=(("late_after", 15),),
    )
    assert TaskDeploymentDescriptor.from_json(task.to_json()) == task
    with pytest.raises(DescriptorError, match=f"has version 99; this program reads version {VERSION}"):
        TaskDeploymentDescriptor.from_json(task.to_json().replace(f'"version": {VERSION},', '"version": 99,', 1))


def test_templates_are_found_and_filled_in_places_only() -> None:
    regions = describe_regions(compile_pipeline(flights.pipeline()))[:1]
    places = find_places(regions)
    assert places == {
        "flights.path": "{{ params.input }}/flights.csv",
        "flights.null_value": "NA",
        "cancelled.path": "{{ params.output }}/cancelled",
        "weather.path": "{{ params.input }}/weather.csv",
        "weather.null_value": "NA",
    }
    filled = fill_places(regions, {key: f"/rendered/{key}" for key in places})
    assert set(find_places(filled).values()) == {f"/rendered/{key}" for key in places}


def test_a_whole_number_is_decoded_as_a_float_if_expected() -> None:
    document = {"type": "Outcome", "state": "FAILED", "ended": 7, "reason": None}
    assert from_wire(Outcome, cast(Json, document)).ended == 7.0


def test_a_flat_value_is_inlined_into_its_holder() -> None:
    operator = describe_regions(compile_pipeline(flights.pipeline()))[0].operators[0]
    document = cast(dict[str, Json], to_wire(operator))
    assert (document["parallelism"], document["deterministic"]) == (None, False)
    older = {key: value for key, value in document.items() if key != "deterministic"}
    assert from_wire(OperatorDescriptor, older) == operator
    for odd in ("settings", "uid"):
        with pytest.raises(DescriptorError, match=rf"these differ: \['{odd}'\]"):
            from_wire(OperatorDescriptor, {**document, odd: None})


@dataclass(frozen=True, slots=True)
class Ours(Csv):
    """A connector that is loaded, and not registered."""


def test_a_connector_of_another_package_has_its_registered_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{__name__}:Ours"
    document = cast(dict[str, Json], to_wire(Ours("/in")))
    assert document["type"] == name
    register(monkeypatch)
    with pytest.raises(ExtensionError, match=f"registers '{name}' under graph_compiler.connectors"):
        from_wire(Connector, document)
    register(monkeypatch, Ours)
    assert from_wire(Connector, document) == Ours("/in")
    with pytest.raises(DescriptorError, match="found type 'Ours'; allowed"):
        from_wire(Connector, document | {"type": "Ours"})
    with pytest.raises(DescriptorError, match=f"found type '{name}'; allowed"):
        from_wire(OperatorDescriptor, document)


def test_a_kind_must_derive_from_the_requested_base(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint(name="x", value=f"{__name__}:Ours", group=Operator.entry_points)
    monkeypatch.setattr(extensions, "_registered", lambda _: (entry,))
    with pytest.raises(ExtensionError, match="is not a kind of Operator"):
        from_wire(Operator, {"type": entry.value})
