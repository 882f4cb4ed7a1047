"""Drivers in processes of their own, which are told what to run, and die or sleep where they are told."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from pyspark.sql import SparkSession

PATIENCE = 480.0
"""Seconds in which a driver says something."""


@dataclass
class Driver:
    """A process that runs what `one_try` is given; `heard` are the steps that it has told."""

    process: "subprocess.Popen[str]"
    lines: "Queue[str]" = field(default_factory=Queue)

    @classmethod
    def start(cls, module: str, world: Mapping[str, Any], **what: Any) -> "Driver":
        """Start one as a module, in a group of its own."""
        with open(f"{world['folder']}/drivers.log", "a", encoding="utf-8") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", module, json.dumps({**world, **what})],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        driver = cls(process)
        threading.Thread(target=driver._listen, daemon=True).start()
        return driver

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                if line.startswith("@ "):
                    self.lines.put(line[2:])
        self.lines.put("")

    def hear(self) -> tuple[str, Any]:
        """Return the next step, `gone` if the process has ended."""
        try:
            line = self.lines.get(timeout=PATIENCE)
        except Empty:
            raise TimeoutError("a driver says nothing") from None
        what, value = json.loads(line) if line else ("gone", None)
        return what, value

    def tell(self, what: str = "") -> None:
        """Let it continue, with a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """End all of its processes."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()


def wait_until_stopped(driver: Driver) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        state = Path(f"/proc/{driver.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "T":
            return
        time.sleep(0.05)
    raise TimeoutError("the driver did not stop")


# In the process of the driver.


def arm(owners: Iterable[Any], point: str, when: str, sent: signal.Signals, spark: SparkSession) -> None:
    """Send a signal to this process and its JVM at a function of each owner: before, after, or during its call."""
    gateway: Any = spark.sparkContext._gateway
    jvm = int(gateway.proc.pid)

    def fire() -> None:
        say("fired", None)
        os.kill(jvm, sent)
        os.kill(os.getpid(), sent)

    for owner in owners:
        setattr(owner, point, _at(getattr(owner, point), when, fire))


def _at(call: Callable[..., Any], when: str, fire: Callable[[], None]) -> Callable[..., Any]:
    is_armed = [True]

    def fires(*arguments: Any, **named: Any) -> Any:
        if not is_armed.pop() if is_armed else True:
            return call(*arguments, **named)
        if when == "before":
            fire()
        elif when == "during":
            timer = threading.Timer(random.uniform(0.0, 0.6), fire)
            timer.daemon = True
            timer.start()
        found = call(*arguments, **named)
        if when == "after":
            fire()
        return found

    return fires


def say(what: str, value: object) -> None:
    """Write a line for the process that has started this one."""
    print(f"@ {json.dumps([what, value])}", flush=True)
