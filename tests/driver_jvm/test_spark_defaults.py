"""Files of settings, read as Java reads them."""

from pathlib import Path

from graph_compiler.driver_jvm.start_settings import parse_properties, read_defaults

TEXT = r"""
# a comment
! another
spark.driver.memory              3g
spark.a=1
spark.b : two words
  spark.c\:d = with\tescapes \u0041
spark.long = first \
             second
spark.empty
spark.ends = \\
"""


def test_pairs_are_those_that_java_reads() -> None:
    assert parse_properties(TEXT) == {
        "spark.driver.memory": "3g",
        "spark.a": "1",
        "spark.b": "two words",
        "spark.c:d": "with\tescapes A",
        "spark.long": "first second",
        "spark.empty": "",
        "spark.ends": "\\",
    }


def test_there_need_be_no_file(tmp_path: Path) -> None:
    assert read_defaults(tmp_path / "spark-defaults.conf") == {}
