"""Spark's schema JSON as columns."""

import json

from graph_compiler.staging.attempts.attempt_lineage import LineageColumn, columns


def schema(**types: object) -> str:
    fields = [{"name": name, "type": type, "nullable": True, "metadata": {}} for name, type in types.items()]
    return json.dumps({"type": "struct", "fields": fields})


def test_plain_columns_have_sparks_types() -> None:
    assert columns(schema(x="integer", y="decimal(10,2)")) == (
        LineageColumn(name="x", type="integer"),
        LineageColumn(name="y", type="decimal(10,2)"),
    )


def test_nested_columns_have_fields() -> None:
    inner = json.loads(schema(a="string"))
    found = columns(
        schema(
            s=inner,
            l={"type": "array", "elementType": inner, "containsNull": True},
            m={"type": "map", "keyType": "string", "valueType": "long"},
        )
    )
    a = LineageColumn(name="a", type="string")
    assert found == (
        LineageColumn(name="s", type="struct", fields=(a,)),
        LineageColumn(name="l", type="array", fields=(LineageColumn(name="_element", type="struct", fields=(a,)),)),
        LineageColumn(
            name="m",
            type="map",
            fields=(LineageColumn(name="key", type="string"), LineageColumn(name="value", type="long")),
        ),
    )


def test_a_type_of_a_user_has_the_name_of_its_class() -> None:
    point = {"type": "udt", "class": None, "pyClass": "acme.Point", "sqlType": "binary"}
    assert columns(schema(p=point)) == (LineageColumn(name="p", type="acme.Point"),)


def test_no_columns() -> None:
    assert columns(schema()) == ()
