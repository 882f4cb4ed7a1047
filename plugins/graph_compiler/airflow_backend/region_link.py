"""The button on a task that leads to its region in the view."""

from __future__ import annotations

from urllib.parse import urlencode

import attrs
from airflow.sdk import BaseOperator, BaseOperatorLink
from airflow.sdk.types import TaskInstanceKey

# Relative: Airflow's page resolves it against the path that Airflow is served under.
PAGE = "graph-compiler/app/"


@attrs.define()
class RegionLink(BaseOperatorLink):
    """Airflow asks for it in the task, and keeps the answer as an XCom."""

    name = "Region in the plan"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Give the page of the run, with the region chosen."""
        place = {"dag_id": ti_key.dag_id, "run_id": ti_key.run_id, "region": operator.task_id}
        return f"{PAGE}?{urlencode(place)}"
