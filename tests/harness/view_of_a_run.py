"""What Airflow's server shows of a run, as its admin sees it: `python -m tests.harness.view_of_a_run DAG RUN_ID`.

Prints a JSON object: the run, and for each of its staged results what is known of it and its first rows.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tests.end_to_end.conftest import Home

ROWS = 5
"""How many rows are asked for."""
_API = "/graph-compiler/api/dags"


def check_the_view(home: Home, environment: Mapping[str, str], run_id: str) -> None:
    """Check what the server shows of a run of flights that has succeeded."""
    module = "tests.harness.view_of_a_run"
    done = home.command("-m", module, "flights", run_id, environment=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    # Airflow logs to standard output, too.
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["run"]["state"], found["run"]["has_documents"]) == ("success", True)
    assert {region["state"] for region in found["run"]["regions"]} == {"FINISHED"}
    (staged,) = found["results"].values()
    assert staged["result"]["rows"] == staged["rows"]["rows_in_result"] > 0
    assert len(staged["rows"]["rows"]) == ROWS


def main() -> None:
    dag_id, run_id = sys.argv[1:]
    os.environ["AIRFLOW__GRAPH_COMPILER__ROW_SAMPLES"] = str(ROWS)
    os.environ["AIRFLOW__API_AUTH__JWT_SECRET"] = "of this process only: " + "x" * 64
    from tests.airflow.web_server import application, client  # needs settings

    browser = client(application(), "admin")

    def asked(what: str, **parameters: str) -> Any:
        words = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
        answer = browser.get(f"{_API}/{dag_id}/{what}?run_id={quote(run_id)}&{words}")
        assert answer.is_success, f"{what}: {answer.status_code} {answer.text}"
        return answer.json()

    run = asked("run")
    attempts = [attempt for region in run["regions"] for attempt in region["attempts"]]
    outputs = [output["result"] for attempt in attempts for output in attempt["outputs"]]
    samples = {each: {what: asked(what, result=each) for what in ("result", "rows")} for each in filter(None, outputs)}
    print(json.dumps({"run": run, "results": samples}))


if __name__ == "__main__":
    main()
