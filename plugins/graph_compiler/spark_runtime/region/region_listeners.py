"""Call the listeners that installed packages register; none of them can fail a region, or hold it up for long.

    notify = Listeners.installed().notify
    notify(task, RegionEventKind.PUBLISHING, outputs)   →   each listener's on_event(…), one after the other

Each call runs in a thread of its own, and the region waits for it: PUBLISHING is handled before anything is published.
A listener that takes longer than `PATIENCE` is left out from then on; its thread ends with the driver.
"""

from __future__ import annotations

import contextvars
import threading
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field

from graph_compiler import program_log
from graph_compiler.declaration.coordination import LISTENERS, EventOutput, RegionEvent, RegionEventKind, RegionListener
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.errors import ExtensionError
from graph_compiler.extensions import find_value, registered_values
from graph_compiler.spark_runtime.secret_values import redact

LOG = program_log.logger(__name__)
PATIENCE = 10.0
"""How long a region waits for one listener and one event, in seconds."""


@dataclass
class Listeners:
    """The listeners by the names of their entry points; one that does not answer in time is removed."""

    known: dict[str, RegionListener] = field(default_factory=dict)
    patience: float = PATIENCE

    @classmethod
    def installed(cls) -> Listeners:
        """Import all that are registered; one that cannot be used is left out, and the log says why."""
        found = cls()
        for entry in registered_values(LISTENERS):
            try:
                listener = find_value(LISTENERS, entry.name, RegionListener)
            except (ExtensionError, SystemExit) as error:  # a package may end the program when it is imported
                LOG.warning("listener '%s' is left out: %s", entry.name, error)
                continue
            if listener is not None:
                found.known[entry.name] = listener
        return found

    def notify(
        self,
        task: TaskDeploymentDescriptor,
        kind: RegionEventKind,
        outputs: Iterable[EventOutput] = (),
        reason: str | None = None,
    ) -> None:
        """Call every listener with an event of an attempt; nothing is raised."""
        if not self.known:
            return
        event = RegionEvent(
            kind=kind,
            pipeline=task.identity.owner,
            run_id=task.identity.run_id,
            task=task.region.task_name,
            region=task.region.region_id,
            attempt=task.attempt.attempt_number + 1,
            execution_id=task.attempt.execution_id,
            outputs=tuple(outputs),
            reason=reason,
        )
        for name, listener in [*self.known.items()]:
            self._call(name, listener, event, task)

    def _call(self, name: str, listener: RegionListener, event: RegionEvent, task: TaskDeploymentDescriptor) -> None:
        failures: list[str] = []

        def call() -> None:
            try:
                listener.on_event(event)
            except BaseException:  # also SystemExit, which would end the thread in silence
                failures.append(redact(traceback.format_exc().rstrip(), task))

        thread = threading.Thread(
            target=contextvars.copy_context().run, args=(call,), name=f"listener {name}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:  # the system has no more threads
            LOG.warning("listener '%s' was not notified of %s: %s", name, event.kind, error)
            return
        thread.join(self.patience)
        if thread.is_alive():
            del self.known[name]
            words = "listener '%s' has not returned from %s within %g s: it is not notified any more"
            LOG.warning(words, name, event.kind, self.patience)
        elif failures:
            LOG.warning("listener '%s' failed for %s, which changes nothing else:\n%s", name, event.kind, failures[0])
