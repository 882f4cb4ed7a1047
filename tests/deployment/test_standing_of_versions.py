"""What a version is to this package: tested, too old with a reason, or not tested yet."""

import pytest

from graph_compiler.tested_versions import SPARK, TOGETHER, Row, Standing, minor_of, next_minor


@pytest.mark.parametrize(
    ("version", "standing"),
    [
        ("4.3.0", Standing.TESTED),
        ("4.3.1-amzn-0", Standing.TESTED),
        ("4.3.0.dev1", Standing.TESTED),
        ("4.0.5", Standing.OLDER),
        ("3.5.9", Standing.OLDER),
        ("4.10.0", Standing.NEWER),
        ("5.0.0-preview1", Standing.NEWER),
        ("next", Standing.NEWER),
    ],
)
def test_a_version_is_tested_or_too_old_or_new(version: str, standing: Standing) -> None:
    assert SPARK.standing(version) is standing
    assert (SPARK.why_refused(version) is None) == (standing is not Standing.OLDER)


def test_a_minor_is_read_from_any_form_of_a_version() -> None:
    assert [minor_of(each) for each in ("4.10.2", "4.3", "main")] == ["4.10", "4.3", "main"]
    assert next_minor("4.9") == "4.10"


def test_a_row_is_found_by_its_minors() -> None:
    row = Row.of("3.12.1", "4.2.1", "3.3.2")
    assert row in TOGETHER
    assert row.is_tested
    assert str(row) == "Python 3.12, Spark 4.2 and Airflow 3.3"
    assert not Row.of("3.14.0", "4.2.1", "3.3.2").is_tested
