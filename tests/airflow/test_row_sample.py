"""Rows from staged files: every type as text, and no more is read or returned than a page can show."""

import datetime
import os
import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from graph_compiler.deployment.documents.manifest import DataFile
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import PartitionNotFoundError, StagingError, UnreadableRowsError
from graph_compiler.staging.results.manifest_log import DamagedResult, record_damage
from graph_compiler.staging.store.hadoop_checksums import checksum_file, checksums_digest
from graph_compiler.staging.store.local_store import LocalStore
from tests.airflow.staged_rows import RESULT, recommit, schema_of, stage_rows

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]

SCRIPT = "<script>alert(1)</script>"
MAP = {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True}
TIMES = {
    "type": "struct",
    "fields": [
        {
            "name": "t",
            "type": {"type": "array", "elementType": "timestamp", "containsNull": True},
            "nullable": True,
            "metadata": {},
        }
    ],
}
MOMENT = datetime.datetime(2013, 1, 1, 5, 0, 0, 120000)
FAR = 316946476800000000  # microseconds: a year that Python has not
VALUES: list[tuple[Any, pa.DataType, Any, str]] = [
    ("byte", pa.int8(), -1, "-1"),
    ("long", pa.int64(), 9007199254740993, "9007199254740993"),
    ("float", pa.float32(), 0.1, "0.1"),
    ("double", pa.float64(), 1.5, "1.5"),
    ("double", pa.float64(), float("nan"), "NaN"),
    ("double", pa.float64(), float("inf"), "Infinity"),
    ("double", pa.float64(), float("-inf"), "-Infinity"),
    ("decimal(10,2)", pa.decimal128(10, 2), Decimal("12.30"), "12.30"),
    ("decimal(38,10)", pa.decimal128(38, 10), Decimal("0.0000000001"), "0.0000000001"),
    ("boolean", pa.bool_(), True, "true"),
    ("string", pa.string(), "null", "null"),
    ("string", pa.string(), "", ""),
    ("string", pa.string(), SCRIPT, SCRIPT),
    ("varchar(9)", pa.string(), "é\u2028\x00", "é\u2028\x00"),
    ("binary", pa.binary(), b"\x00\xff", "0x00ff"),
    ("date", pa.date32(), datetime.date(2013, 1, 1), "2013-01-01"),
    ("date", pa.date32(), 3_000_000, "10183-09-21"),
    ("timestamp", pa.timestamp("us"), MOMENT, "2013-01-01 05:00:00.12Z"),
    ("timestamp", pa.timestamp("us", "UTC"), MOMENT, "2013-01-01 05:00:00.12Z"),
    ("timestamp", pa.timestamp("us", "Europe/Berlin"), MOMENT, "2013-01-01 05:00:00.12Z"),
    ("timestamp", pa.timestamp("us"), FAR, "12013-08-20 00:00:00Z"),
    ("timestamp_ntz", pa.timestamp("us"), MOMENT, "2013-01-01 05:00:00.12"),
    ("interval year to month", pa.int32(), 14, "14 months"),
    ("interval day to second", pa.int64(), 93, "93 µs"),
    (
        {"type": "array", "elementType": "string", "containsNull": True},
        pa.list_(pa.string()),
        ["a", None, "null", '"'],
        '["a", null, "null", "\\""]',
    ),
    (MAP, pa.map_(pa.string(), pa.float64()), [("a", float("nan"))], '{"a": NaN}'),
    (
        TIMES,
        pa.struct([("t", pa.list_(pa.timestamp("us")))]),
        {"t": [MOMENT, None]},
        '{"t": ["2013-01-01 05:00:00.12Z", null]}',
    ),
    ({"type": "udt", "sqlType": TIMES}, pa.struct([("t", pa.list_(pa.timestamp("us")))]), {"t": []}, '{"t": []}'),
]


@pytest.fixture
def layout(tmp_path: Path) -> StagingLayout:
    return StagingLayout(root=str(tmp_path / "root"), identity=RunIdentity.own("p", "run 1"))


def sample(layout: StagingLayout, most: int = 5, **how: Any) -> Any:
    from graph_compiler.airflow_backend.web.rows.row_sample import read_sample
    from graph_compiler.airflow_backend.web.rows.staged_files import find_rows

    found = find_rows(layout, RESULT)
    assert found is not None
    return read_sample(found, most, **how)


@pytest.mark.parametrize(("kind", "arrow", "value", "text"), VALUES)
def test_a_value_is_text_and_null_is_null(
    layout: StagingLayout, kind: Any, arrow: pa.DataType, value: Any, text: str
) -> None:
    table = pa.table({"a.b": pa.array([value, None], arrow)})
    stage_rows(layout, schema_of(("a.b", kind)), [table])
    assert sample(layout).rows == ((text,), (None,))


def test_long_values_are_cut_and_marked(layout: StagingLayout) -> None:
    numbers = {"type": "array", "elementType": "long", "containsNull": True}
    table = pa.table(
        {
            "s": pa.array(["é" * 10_000, "é" * 500, "é" * 501]),
            "b": pa.array([b"\x01" * 10_000, b"\x01" * 249, b""]),
            "l": pa.array([list(range(100_000)), [], [1]], pa.list_(pa.int64())),
        }
    )
    stage_rows(layout, schema_of(("s", "string"), ("b", "binary"), ("l", numbers)), [table])
    (s, b, listed), whole, (s_next, *_) = sample(layout).rows
    assert (s.text, s.bytes) == ("é" * 500, 20_000)
    assert (len(b.text), b.bytes, b.text[:4]) == (500, 10_000, "0x01")
    assert (len(listed.text), listed.bytes, listed.text[:9]) == (500, None, "[0, 1, 2,")
    assert whole == ("é" * 500, "0x" + "01" * 249, "[]")
    assert (s_next.text, s_next.bytes) == ("é" * 500, 1_002)


def ids(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


def test_rows_come_in_the_order_of_partitions_and_of_the_last_epoch(layout: StagingLayout) -> None:
    schema = schema_of(("id", "long"))
    stage_rows(layout, schema, [ids(9)])
    stage_rows(layout, schema, [ids(), ids(1, 2, 3), ids(), ids(4, 5, 6)], epoch=1, row_group_size=2)
    found = sample(layout, 4)
    assert (found.epoch, found.rows_in_result, found.notes) == (1, 6, ())
    assert found.rows == (("1",), ("2",), ("3",), ("4",))
    assert len(sample(layout, 200).rows) == 6


def test_no_file_is_opened_before_its_rows_are_wanted(layout: StagingLayout) -> None:
    manifest = stage_rows(layout, schema_of(("id", "long")), [ids(1, 2), ids(3)])
    Path(manifest.location, manifest.files[1].name).unlink()
    assert sample(layout, 2).rows == (("1",), ("2",))
    with pytest.raises(PartitionNotFoundError, match="no longer exists"):
        sample(layout, 3)


def test_a_result_without_rows_has_columns(layout: StagingLayout) -> None:
    stage_rows(layout, schema_of(("id", "long")), [ids()])
    found = sample(layout)
    assert ([one.name for one in found.columns], found.rows, found.notes) == (["id"], (), ())


def in_this_process(wanted: Any) -> Any:
    """Read as the separate process does, and count what is read."""
    from graph_compiler.row_reader.reading_process import rows_in

    return rows_in(replace(wanted, descriptors=tuple(os.dup(one) for one in wanted.descriptors)))


def read_bytes() -> int:
    (line,) = [line for line in Path("/proc/self/io").read_text().splitlines() if line.startswith("rchar")]
    return int(line.split()[1])


def test_of_a_large_row_group_only_the_first_pages_are_read(layout: StagingLayout) -> None:
    content = pa.py_buffer(random.Random(1).randbytes(8_000_000))
    column = pa.Array.from_buffers(pa.int64(), 1_000_000, [None, content])
    schema = schema_of(("a", "long"), ("b", "long"))
    manifest = stage_rows(layout, schema, [pa.table({"a": column, "b": column})])
    assert manifest.bytes > 15_000_000
    before = read_bytes()
    assert len(sample(layout, 200, read=in_this_process).rows) == 200
    assert read_bytes() - before < manifest.bytes / 5


def test_answers_are_limited_in_size(layout: StagingLayout) -> None:
    names = [f"c{number}" for number in range(150)]
    table = pa.table({name: pa.array(["\x01" * 500] * 50) for name in names})
    stage_rows(layout, schema_of(*((name, "string") for name in names)), [table])
    found = sample(layout, 200)
    assert len(found.rows) == 2
    assert found.notes == ("2 rows, not 50: what follows is too large to be shown here.",)


def test_the_number_of_columns_is_limited(layout: StagingLayout) -> None:
    names = [f"c{number}" for number in range(250)]
    table = pa.table({name: pa.array([1]) for name in names})
    stage_rows(layout, schema_of(*((name, "long") for name in names)), [table])
    found = sample(layout)
    assert ([one.name for one in found.columns], len(found.rows[0])) == (names[:200], 200)
    assert found.notes == ("The first 200 of 250 columns.",)


@pytest.mark.parametrize(
    "heavy", [pa.array([bytes([n]) * 2_000_000 for n in range(50)]), pa.array([[0] * 1_000_000] * 10 + [[]] * 40)]
)
def test_a_column_that_is_too_large_is_not_read(layout: StagingLayout, heavy: pa.Array) -> None:
    table = pa.table({"id": pa.array(range(50)), "heavy": heavy})
    stage_rows(layout, schema_of(("id", "long"), ("heavy", "binary")), [table])
    found = sample(layout, 3)
    assert found.rows == (("0",), ("1",), ("2",))
    assert found.notes == ("Too large to be read here: heavy.",)


def test_rows_stop_before_a_batch_that_is_too_large(layout: StagingLayout) -> None:
    light, heavy = (pa.table({"b": pa.array([bytes([n]) * size for n in range(50)])}) for size in (1, 2_000_000))
    stage_rows(layout, schema_of(("b", "binary")), [light, heavy])
    found = sample(layout, 60)
    assert len(found.rows) == 50
    assert found.notes == ("50 rows, not 60: what follows is too large to be shown here.",)


@pytest.fixture
def staged(layout: StagingLayout) -> tuple[StagingLayout, Any, Path]:
    manifest = stage_rows(layout, schema_of(("id", "long")), [ids(1)])
    return layout, manifest, Path(manifest.location, manifest.files[0].name)


@pytest.mark.parametrize("name", ["../../../secret.parquet", "/etc/passwd", "..", "", "a/b"])
def test_a_manifest_names_only_files_in_its_folder(staged: Any, name: str) -> None:
    layout, manifest, path = staged
    (Path(layout.run) / "secret.parquet").write_bytes(path.read_bytes())
    recommit(layout, manifest, files=(replace(manifest.files[0], name=name),))
    with pytest.raises(StagingError, match="which is not a file of a staged result"):
        sample(layout)


def test_the_folder_is_named_by_the_run_and_not_by_the_manifest(staged: Any, tmp_path: Path) -> None:
    layout, manifest, path = staged
    elsewhere = tmp_path / "elsewhere"
    path.parent.rename(elsewhere)
    recommit(layout, manifest, location=str(elsewhere))
    with pytest.raises(PartitionNotFoundError, match="no longer exists"):
        sample(layout)


def test_a_link_is_not_followed_out_of_the_folder(staged: Any, tmp_path: Path) -> None:
    layout, _, path = staged
    path.rename(tmp_path / "elsewhere.parquet")
    path.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(PartitionNotFoundError, match="is a symbolic link"):
        sample(layout)


def test_a_folder_in_place_of_a_file_is_refused(staged: Any) -> None:
    layout, manifest, path = staged
    path.unlink()
    path.mkdir()
    recommit(layout, manifest, files=(replace(manifest.files[0], bytes=path.stat().st_size),))
    with pytest.raises(PartitionNotFoundError, match="is a folder"):
        sample(layout)


def test_a_file_that_changed_since_its_commit_is_not_read(staged: Any) -> None:
    layout, _, path = staged
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(PartitionNotFoundError, match=r"has \d+ bytes, not \d+"):
        sample(layout)


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1" + b"x" * 100 + b"PAR1", b"PARE" + b"x" * 100 + b"\x14\0\0\0PARE", b"{}"],
    ids=["empty", "damaged", "encrypted", "no Parquet"],
)
def test_files_that_arrow_cannot_read_are_reported(staged: Any, content: bytes) -> None:
    layout, manifest, path = staged
    path.write_bytes(content)
    file = DataFile(name=path.name, rows=1, bytes=len(content))
    recommit(layout, manifest, files=(file,))
    with pytest.raises((UnreadableRowsError, PartitionNotFoundError)):
        sample(layout)


def test_a_file_without_a_column_of_its_manifest_says_so(layout: StagingLayout) -> None:
    stage_rows(layout, schema_of(("id", "long"), ("other", "long")), [ids(1)])
    with pytest.raises(PartitionNotFoundError, match="has no other"):
        sample(layout)


def test_a_footer_that_would_take_much_memory_is_not_read(staged: Any) -> None:
    layout, manifest, path = staged
    with path.open("r+b") as file:
        file.truncate(3_000_000_000)  # a hole: it takes no room
        file.seek(-8, 2)
        file.write((2_000_000_000).to_bytes(4, "little") + b"PAR1")
    recommit(layout, manifest, files=(replace(manifest.files[0], bytes=3_000_000_000),))
    with pytest.raises(PartitionNotFoundError, match="has a footer of 2,000,000,000 bytes"):
        sample(layout)


def test_a_fifo_in_place_of_a_file_does_not_block(staged: Any) -> None:
    layout, manifest, path = staged
    path.unlink()
    os.mkfifo(path)
    recommit(layout, manifest, files=(replace(manifest.files[0], bytes=0),))
    with pytest.raises(PartitionNotFoundError, match="is a FIFO"):
        sample(layout)


def test_a_file_whose_checksums_were_changed_is_not_shown(staged: Any) -> None:
    layout, manifest, path = staged
    (file,) = manifest.files
    checksum_file(path).write_bytes(b"crc\0 and checksums")
    digest = checksums_digest(path)
    recommit(layout, manifest, files=(replace(file, checksums=digest),))
    assert sample(layout).rows
    checksum_file(path).unlink()
    with pytest.raises(PartitionNotFoundError, match="cannot be trusted: its checksum file"):
        sample(layout)


def test_a_page_that_was_changed_is_not_shown(layout: StagingLayout) -> None:
    manifest = stage_rows(layout, schema_of(("id", "long")), [ids(1)])
    path = Path(manifest.location, manifest.files[0].name)
    parquet.write_table(
        pa.table({"id": pa.array([7])}), path, write_page_checksum=True, compression="none",
        use_dictionary=False, write_statistics=False,
    )  # fmt: skip
    content = path.read_bytes()
    at = content.index((7).to_bytes(8, "little"))
    path.write_bytes(content[:at] + b"\x08" + content[at + 1 :])
    recommit(layout, manifest, files=(replace(manifest.files[0], bytes=len(content)),))
    with pytest.raises(UnreadableRowsError, match="checksum"):
        sample(layout)


def test_a_record_of_damage_that_cannot_be_read_counts_as_damage(staged: Any) -> None:
    layout, manifest, _ = staged
    LocalStore().put_if_absent(layout.damaged(RESULT, manifest.epoch), b"{")
    with pytest.raises(PartitionNotFoundError, match="was found damaged; the record of the damage cannot be read"):
        sample(layout)


@pytest.mark.parametrize("kind", ["pipe", "huge"])
def test_an_invalid_checksum_file_is_not_trusted(kind: str, staged: Any) -> None:
    _, _, path = staged
    if kind == "pipe":
        os.mkfifo(checksum_file(path))
    else:
        with checksum_file(path).open("wb") as file:
            file.truncate(path.stat().st_size + 1_000_000)
    assert checksums_digest(path) is None


def test_files_recorded_as_damaged_are_not_shown(staged: Any) -> None:
    layout, manifest, path = staged
    damaged = DamagedResult(
        result_id=RESULT,
        epoch=manifest.epoch,
        file=path.name,
        reason="its bytes do not match their checksums",
        execution_id="e1",
        time=0.0,
    )
    record_damage(LocalStore(), layout, damaged)
    with pytest.raises(PartitionNotFoundError, match="was found damaged by execution e1"):
        sample(layout)
