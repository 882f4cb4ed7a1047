"""Places of a store that a package outside of ours registers: `box://shelf/box`.

`tests/end_to_end/test_store_of_a_package.py` runs a pipeline there.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import graph_compiler

PLUGINS = Path(graph_compiler.__file__).parents[1]
ACME = Path(__file__).parent / "acme"
CHECK = """
import sys
from graph_compiler.declaration.connectors.file_uris import places_with_stores, staging_place, why_no_target
print(staging_place(sys.argv[1]), why_no_target(sys.argv[1]), places_with_stores(), sep="\\n")
assert not [name for name in sys.modules if name in ("acme_box.airflow", "acme_box.driver")]
"""


@pytest.mark.parametrize(
    ("uri", "entry", "place", "why"),
    [
        ("box://shelf//a/", "box = acme_box.store:BOX", "box://shelf/a", "None"),
        ("box://shelf/../a", "box = acme_box.store:BOX", "None", "it names no box"),
        ("box:/shelf/a", "box = acme_box.store:BOX", "None", "it has scheme 'box:'"),
        ("BOX://shelf/a", "box = acme_box.store:BOX", "None", "it has scheme 'BOX:'"),
        ("box://shelf/a", "", "None", "it has scheme 'box:'"),
        ("case://shelf/a", "case = acme_box.store:BOX", "None", "the entry point 'case' names the store of 'box:'"),
        ("box://shelf/a", "box = acme_box.nowhere:BOX", "None", "No module named 'acme_box.nowhere'"),
        ("box://shelf/a", "box = acme_box.store:Promises", "None", "'acme_box.store:Promises' is not of type"),
        ("s3a://shelf/a", "s3a = acme_box.store:BOX", "s3a://shelf/a", "None"),
    ],
)
def test_places_are_those_of_the_registered_store(uri: str, entry: str, place: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "acme"
    shutil.copytree(ACME, path)
    (path / "acme_box-1.0.dist-info" / "entry_points.txt").write_text(f"[graph_compiler.stores]\n{entry}\n")
    done = subprocess.run(
        [sys.executable, "-c", CHECK, uri],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(path), str(PLUGINS)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, wrong, allowed = done.stdout.splitlines()
    assert found == place
    assert why in wrong
    is_usable = entry == "box = acme_box.store:BOX"
    assert allowed.endswith("or box://shelf/box" if is_usable else "or hdfs://host:port/path")
