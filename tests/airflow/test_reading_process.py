"""Rows are read in a separate process: whatever a file does to it, the server answers, and its memory is safe."""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import graph_compiler
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import UnreadableRowsError
from tests.airflow import crafted_parquet
from tests.airflow.staged_rows import RESULT, recommit, schema_of, stage_rows

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]

PLUGINS = str(Path(graph_compiler.__file__).parents[1])
GROWTH = 50_000_000
"""Bytes that the server may take for an answer, whatever the file holds."""


@pytest.fixture
def layout(tmp_path: Path) -> StagingLayout:
    return StagingLayout(root=str(tmp_path / "root"), identity=RunIdentity.own("p", "run 1"))


def sample(layout: StagingLayout) -> Any:
    from graph_compiler.airflow_backend.web.rows.row_sample import read_sample
    from graph_compiler.airflow_backend.web.rows.staged_files import find_rows

    found = find_rows(layout, RESULT)
    assert found is not None
    return read_sample(found, 5)


def forget_the_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """Return the peak of resident bytes since then."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize(
    "craft",
    [
        lambda path: crafted_parquet.expanding_page(path, size=1_500 << 20),
        lambda path: crafted_parquet.repeated_value(path, size=100_000_000),
    ],
    ids=["a page that unfolds", "a value that repeats"],
)
def test_a_small_file_that_expands_to_gigabytes_is_refused(
    layout: StagingLayout, craft: Callable[[Path], None]
) -> None:
    manifest = stage_rows(layout, schema_of(("s", "binary")), [pa.table({"s": [b"x"]})])
    assert sample(layout).rows == (("0x78",),)  # all is imported that reading takes
    (file,) = manifest.files
    path = Path(manifest.location, file.name)
    craft(path)
    assert path.stat().st_size < 50_000
    recommit(layout, manifest, files=(replace(file, rows=100, bytes=path.stat().st_size),))
    before = forget_the_peak()
    with pytest.raises(UnreadableRowsError, match="takes more than 768 MB of memory"):
        sample(layout)
    assert peak() - before < GROWTH


def process(code: str, **limits: Any) -> Any:
    from graph_compiler.airflow_backend.web.bounded_process import BoundedProcess

    command = (sys.executable, "-c", f"import os, signal, sys, time; {code}")
    return BoundedProcess(
        **{"command": command, "environment": {"PYTHONPATH": PLUGINS}, "seconds": 20, "most": 1_000, **limits}
    )


def refused(program: Any, question: bytes = b"") -> str:
    with pytest.raises(UnreadableRowsError) as raised:
        program.answer_to(question, ())
    return str(raised.value)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "was ended by SIGSEGV"),
        ("os.abort()", "was ended by SIGABRT"),
        ("os.kill(os.getpid(), signal.SIGXCPU)", "took too much CPU time"),
        ("print('half an answer', flush=True); os._exit(3)", "ended with exit code 3"),
    ],
)
def test_a_dead_process_is_reported(code: str, words: str) -> None:
    assert words in refused(process(code))


@pytest.mark.parametrize(
    "code",
    [
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
        "os.close(1); time.sleep(600)",
        "print('x', flush=True); time.sleep(600)",
    ],
    ids=["stops itself", "sleeps", "closes its output", "stops within its answer"],
)
def test_a_process_that_hangs_is_killed(code: str, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    begun = time.monotonic()
    code = f"open({str(file)!r}, 'w').write(str(os.getpid())); {code}"
    assert refused(process(code, seconds=2)) == "reading them takes more than 2 s"
    assert time.monotonic() - begun < 5
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)


def test_a_process_that_prints_a_gigabyte_is_cut_off() -> None:
    before = forget_the_peak()
    code = "[os.write(1, bytes(1 << 20)) for _ in range(1 << 10)]"
    assert refused(process(code)) == "they take more than 1,000 bytes"
    assert peak() - before < GROWTH


def test_a_process_that_reads_no_input_does_not_block() -> None:
    assert process("print('done')").answer_to(b"x" * 10_000_000, ()) == b"done\n"


def test_the_process_gets_no_secret_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "secret")
    shown = process("print(*os.environ)", most=10_000).answer_to(b"", ()).decode().split()
    assert "AIRFLOW__API_AUTH__JWT_SECRET" not in shown


def test_an_unreadable_answer_is_reported(layout: StagingLayout, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.web.rows import row_sample

    stage_rows(layout, schema_of(("id", "long")), [pa.table({"id": [1]})])
    for said in (
        "", "{", "[" * 100_000, "7", '{"type": "Answer"}', '{"type": "RowsRead"}',
        '{"type": "RowsRead", "shown": [1], "rows": []}',
        '{"type": "RowsRead", "shown": [-1], "rows": []}',
        '{"type": "RowsRead", "shown": [0], "rows": [[]]}',
        '{"type": "RowsRead", "shown": [0], "rows": [[7]]}',
        '{"type": "RowsRead", "shown": [], "rows": [[], [], [], [], [], []]}',
    ):  # fmt: skip
        monkeypatch.setattr(row_sample, "_START", f"print({said!r})")
        with pytest.raises(UnreadableRowsError, match="returned an unreadable answer"):
            sample(layout)


LIMITS = """
import os, resource, signal, sys
from graph_compiler.row_reader.messages import limit_what_it_takes, open_nothing_more
limit_what_it_takes()
{}
open_nothing_more()
{}
"""


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("try: bytes(1 << 30)\nexcept MemoryError: print('no')", "", "no"),
        ("try: os.write(os.open('x', os.O_CREAT | os.O_WRONLY), b'x')\nexcept OSError: print('no')", "", "no"),
        ("", "try: open('/dev/null')\nexcept OSError: print('no')", "no"),
        ("", "print(resource.getrlimit(resource.RLIMIT_CORE))", "(0, 0)"),
        ("", "print(resource.getrlimit(resource.RLIMIT_CPU))", "(6, 7)"),
        ("", "print(0 < signal.alarm(0) <= 10)", "True"),
    ],
)  # fmt: skip
def test_the_process_limits_itself(before: str, after: str, words: str, tmp_path: Path) -> None:
    code = LIMITS.format(before, after)
    program = process("", command=(sys.executable, "-c", f"import os; os.chdir({str(tmp_path)!r})\n{code}"))
    answer = program.answer_to(b"", ())
    assert answer.decode().strip() == words


def test_a_lower_limit_is_left_alone() -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_CPU, (2, 3))\n" + LIMITS.format(
        "", "print(resource.getrlimit(resource.RLIMIT_CPU))"
    )
    program = process("", command=(sys.executable, "-c", code))
    assert program.answer_to(b"", ()).decode().strip() == "(3, 3)"


def test_the_process_imports_neither_airflow_nor_spark_nor_pydantic() -> None:
    code = (
        "import graph_compiler.row_reader.reading_process, graph_compiler.row_reader.pages; "
        "print(*({'airflow', 'pyspark', 'pydantic', 'fastapi'} & set(sys.modules)))"
    )
    assert process(code).answer_to(b"", ()).strip() == b""
