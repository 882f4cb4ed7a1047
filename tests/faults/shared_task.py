"""The diamond in one Airflow task, whose retries keep the regions that have finished."""

from tests.faults.diamond import declare

env = declare("shared_task", same_task=True)
