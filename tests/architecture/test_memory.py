"""The driver holds no data: the runtime never brings rows to it, except a limited sample of a text file."""

import re
from pathlib import Path

import graph_compiler

RUNTIME = Path(graph_compiler.__file__).parent / "spark_runtime"
BRINGS_ROWS = re.compile(r"\.(collect|toPandas|toArrow|toLocalIterator|take|head|tail|first)\(")
BOUNDED = {
    "rehearsal/rehearsal.py": [".toArrow("],  # of what a test gave itself
    "publishing/own_partition.py": [".collect("],  # of a value for each name of a folder, which come from no rows
    "connectors/lake/delta.py": [".take("],  # of one row: the folder of a table
    "connectors/database.py": [".collect("],  # of at most four keys that are there twice
    "connectors/source.py": [".collect("],  # of at most SAMPLED_LINES lines, in a dry run
    "connectors/xml_records.py": [".collect("],  # of at most _MOST_FILES files
    "connectors/text_records.py": [".collect(", ".collect("],  # of a number for each file
    "executor_probe.py": [".collect(", ".collect("],  # of import errors, and of packages
    "operators/contract_operators.py": [".collect("],  # of one row: the totals of a contract
    "operators/function_operators.py": [".first("],  # of one row: whether a loop goes on
    "pinned_jvm.py": [".collect("],  # of different properties of executors' JVMs
    "rehearsal/preview.py": [".collect("],  # of as many rows as the command line asks for
    "results/row_checksum.py": [".first(", ".first("],  # of one row: a number and a checksum
    "spark_internals/delta_tables.py": [".collect(", ".collect("],  # of the files of one commit, and of one row
    "spark_internals/iceberg_maintenance.py": [".first("],  # of one row: a number of bytes
    "table_maintenance.py": [".collect(", ".collect("],  # of one row: what was done
    "spark_internals/iceberg_tables.py": [".collect("],  # the same
    "publishing/format_values.py": [".collect("],  # of at most four keys, the same
}


def test_no_module_collects_rows_in_the_driver() -> None:
    found = {
        str(path.relative_to(RUNTIME)): [match[0] for match in BRINGS_ROWS.finditer(text)]
        for path in sorted(RUNTIME.rglob("*.py"))
        if BRINGS_ROWS.search(text := path.read_text())
    }
    assert found == BOUNDED
