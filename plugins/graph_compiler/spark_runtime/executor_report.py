"""The application with which `graph-compiler doctor` asks a cluster: `executor_report.py ROOT FILE ANSWER`.

Executors read FILE, which is below the staging root ROOT, and start their Python. ANSWER is then a JSON object with the
problem, null if there is none.
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

from graph_compiler.errors import GraphCompilerError
from graph_compiler.spark_runtime.executor_probe import check_imports, check_root


def main(root: str, file: str, answer: str) -> None:
    """Ask, and write the answer."""
    spark = SparkSession.builder.appName("graph_compiler.doctor").getOrCreate()
    problem = None
    try:
        check_root(spark, root, file)
        check_imports(spark, ["pyspark"])
    except GraphCompilerError as error:
        problem = str(error)
    version = ".".join(platform.python_version_tuple()[:2])
    Path(answer).write_text(json.dumps({"problem": problem, "python": version}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
