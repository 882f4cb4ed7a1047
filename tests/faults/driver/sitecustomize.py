"""On PYTHONPATH of the harness's Airflow: Python imports it first in every process, and it arms drivers."""

import sys

_programs = [place for place, word in enumerate(sys.orig_argv) if word.endswith("spark_runtime/main.py")]
if _programs:
    from tests.faults.injection import arm

    for _descriptor in sys.orig_argv[_programs[0] + 1 :]:
        arm(_descriptor)
