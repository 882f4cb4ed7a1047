"""A listener that notes which targets have got rows, and when their attempts failed."""

from graph_compiler.extending import RegionEvent, RegionEventKind, RegionListener


class Audit(RegionListener):
    """Keeps a line for each event that an auditor asks for."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_event(self, event: RegionEvent) -> None:
        """Note publications and failures."""
        if event.kind is RegionEventKind.PUBLISHED:
            self.lines += [f"{event.pipeline}: {each.name} has {each.rows} rows" for each in event.outputs]
        elif event.kind is RegionEventKind.FAILED:
            self.lines.append(f"{event.pipeline}: {event.region} failed: {event.reason}")


LISTENER = Audit()
