"""Airflow's triggerer waits for an application, in place of a worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent
from asgiref.sync import sync_to_async

from graph_compiler.airflow_backend.connection_access import open_stores
from graph_compiler.airflow_backend.provider.submit_operator import SubmitOperator
from graph_compiler.airflow_backend.provider.submit_process import PATIENCE_SECONDS
from graph_compiler.airflow_backend.task.driver_end import ask_streams, stopping, wait_for_reports


class ApplicationTrigger(BaseTrigger):
    """Fires when an application is no longer active; ends it when its task is marked, cleared or removed.

    `application`: its id, as the provider stores it. `conn_id`, `deploy_mode`: of the cluster. `descriptors`: of the
    executions that it runs. `staging_root`, `staging_conn_id`: where these are. `poll_interval`: in seconds.
    """

    def __init__(  # noqa: PLR0913  # what serialize returns: Airflow creates it from these
        self,
        *,
        application: str,
        conn_id: str,
        deploy_mode: str | None,
        descriptors: list[str],
        staging_root: str,
        staging_conn_id: str | None,
        poll_interval: float,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's
        self.application = application
        self.conn_id = conn_id
        self.deploy_mode = deploy_mode
        self.descriptors = descriptors
        self.staging_root = staging_root
        self.staging_conn_id = staging_conn_id
        self.poll_interval = poll_interval
        self._followed: SubmitOperator | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the path of this class, and the arguments that create it again."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "application": self.application,
                "conn_id": self.conn_id,
                "deploy_mode": self.deploy_mode,
                "descriptors": self.descriptors,
                "staging_root": self.staging_root,
                "staging_conn_id": self.staging_conn_id,
                "poll_interval": self.poll_interval,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask until the application has ended; a cluster that does not answer is asked again."""
        operator = await self._operator()
        while True:
            try:
                status = await asyncio.to_thread(operator.status_of, self.application, {})
            except Exception as error:  # each cluster's client has its own
                self.log.warning("%s: %s", self.application, error)
            else:
                if not operator.is_job_active(status):
                    event = {"application": self.application, "status": status}
                    yield TriggerEvent(event)  # type: ignore[no-untyped-call]  # Airflow's
                    return
            await asyncio.sleep(self.poll_interval)

    async def on_kill(self) -> None:
        """End the application, and write that its executions were stopped: no later try follows it."""
        operator = await self._operator()
        try:
            await sync_to_async(open_stores)(self.staging_root, self.staging_conn_id)
        except Exception:  # of any store's client: the application is ended in any case
            self.log.warning("graph_compiler: no access to %s", self.staging_root, exc_info=True)
        await asyncio.to_thread(self._end, operator)

    def _end(self, operator: SubmitOperator) -> None:
        if ask_streams(self.descriptors):
            wait_for_reports(self.descriptors, PATIENCE_SECONDS)
        with stopping(self.descriptors):
            operator.take_over(self.application)
            operator.on_kill()

    async def _operator(self) -> SubmitOperator:
        """Return an operator that has submitted nothing: the provider asks and ends through one.

        Its connection is read in Airflow's thread for that; its requests may take long, and have threads of their own.
        """
        if self._followed is None:
            operator = SubmitOperator.of_cluster(self.conn_id, self.deploy_mode)
            await sync_to_async(operator.connect)()
            self._followed = operator
        return self._followed
