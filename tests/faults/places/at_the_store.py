"""The program that a store's server calls at a plan's point.

    python -m tests.faults.places.at_the_store PLANS RUN_ID

It prints the rules that hold for further requests.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.faults.actions import SIGNALS, send_signals
from tests.faults.places.bucket_requests import further_rules
from tests.faults.plan import Fault, Firing, Plan, driver_path, firing_path, plan_path

_PAUSE = 20
"""Seconds."""


def main(plans: str, run_id: str) -> None:
    """Carry out a run's plan once, whichever request comes to its point first."""
    folder = Path(plans)
    plan = Plan.from_json(plan_path(folder, run_id).read_text())
    driver = driver_path(folder, run_id).read_text()
    with firing_path(folder, run_id).open("x") as file:
        file.write(driver)
    firing = Firing.from_json(driver)
    if plan.fault in SIGNALS:
        send_signals(plan.fault, firing)
    elif plan.fault is Fault.DELAYED:
        os.kill(firing.driver, signal.SIGKILL)
    elif plan.fault is Fault.PAUSED:
        _pause(os.getppid())
    print(json.dumps(further_rules(plan.fault, firing.driver)))


def _pause(server: int) -> None:
    """Stop the server, and start a process that lets it go on."""
    subprocess.Popen(
        ["bash", "-c", f"sleep {_PAUSE}; kill -CONT {server}"], start_new_session=True, stdout=subprocess.DEVNULL
    )
    os.kill(server, signal.SIGSTOP)


if __name__ == "__main__":
    main(*sys.argv[1:])
