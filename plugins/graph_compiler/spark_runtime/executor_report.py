"""The application with which `graph-compiler doctor` asks a cluster: `executor_report.py ROOT FILE ANSWER`.

Executors read FILE, which is below the staging root ROOT, and start their Python. If ROOT is in an object store, the
driver does what commits and cleanup rely on. ANSWER is then a JSON object with the problem, null if there is none.
"""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

if __name__ == "__main__":
    # As in main.py: a script's own folder is first on sys.path.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.errors import GraphCompilerError, StagingError
from graph_compiler.spark_runtime.executor_probe import check_imports, check_root_of_executors
from graph_compiler.staging.store.root_probe import why_unlisted, why_unsafe
from graph_compiler.staging.store.stores import open_on_driver, store_of


def check_store(root: str) -> None:
    """Raise StagingError or OSError if the driver cannot stage in a root that is not on a disk."""
    if local_path(root) is not None:
        return
    open_on_driver()
    store = store_of(root)
    if wrong := why_unsafe(store, root) or why_unlisted(store, root):
        raise StagingError(wrong)


def main(root: str, file: str, answer: str) -> None:
    """Ask, and write the answer."""
    spark = SparkSession.builder.appName("graph_compiler.doctor").getOrCreate()
    problem = None
    try:
        check_store(root)
        check_root_of_executors(spark, root, file)
        check_imports(spark, ["pyspark"])
    except (GraphCompilerError, OSError) as error:
        problem = str(error)
    version = ".".join(platform.python_version_tuple()[:2])
    Path(answer).write_text(json.dumps({"problem": problem, "python": version}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
