"""On PYTHONPATH of the harness's Airflow: Python imports it first in every process, and it arms drivers."""

import sys
from pathlib import Path

if len(sys.orig_argv) > 2 and sys.orig_argv[-2].endswith("spark_runtime/main.py"):
    from tests.faults.injection import arm

    arm(Path(sys.orig_argv[-1]))
