"""Receivers of metrics on loopback: in place of a StatsD server and of an OTLP collector."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PREFIX = "airflow."


@dataclass(frozen=True)
class Received:
    """One value: added to a counter, a timing in milliseconds, or a gauge; `name` without Airflow's prefix.

    `kind` is StatsD's letter for it, empty in OpenTelemetry.
    """

    name: str
    value: float
    tags: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""

    def __str__(self) -> str:
        tags = ",".join(f"{name}={value}" for name, value in sorted(self.tags.items()))
        return f"{self.name} {self.value:g} {tags}"


@dataclass(frozen=True)
class Receiver:
    """Where metrics are sent, and those received so far, in order."""

    port: int
    received: list[Received]

    def own(self) -> list[Received]:
        """Return the metrics of graph_compiler."""
        return [one for one in self.received if one.name.startswith("graph_compiler.")]

    def total(self, name: str, **tags: str) -> float:
        """Return the sum of a metric's values with these tags."""
        return sum(one.value for one in self.own() if one.name == name and tags.items() <= one.tags.items())


@contextmanager
def statsd_listener() -> Iterator[Receiver]:
    """Listen as a StatsD server does; tags are those of InfluxDB."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.1)
        receiver = Receiver(server.getsockname()[1], [])
        is_over = threading.Event()

        def listen() -> None:
            while not is_over.is_set():
                try:
                    packet = server.recv(65_536)
                except TimeoutError:
                    continue
                receiver.received.extend(_of_statsd(line) for line in packet.decode().split("\n"))

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield receiver
        finally:
            is_over.set()
            thread.join()


def _of_statsd(line: str) -> Received:
    """Read `airflow.name,tag=value:3|c`."""
    series, _, rest = line.partition(":")
    name, *tags = series.split(",")
    value, _, kind = rest.partition("|")
    own = dict(tag.split("=", 1) for tag in tags)
    return Received(name.removeprefix(PREFIX), float(value), own, kind.partition("|")[0])


@contextmanager
def otlp_receiver() -> Iterator[Receiver]:
    """Listen as an OpenTelemetry collector does, for metrics over HTTP; each export is added to those before it.

    Exports must be deltas, so that the values of several processes, and of one that exports twice, can be added.
    """
    received: list[Received] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.extend(_of_otlp(body, self.headers.get("Content-Encoding")))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Receiver(server.server_address[1], received)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _of_otlp(body: bytes, encoding: str | None) -> Iterator[Received]:
    import gzip

    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    request = ExportMetricsServiceRequest()
    request.ParseFromString(gzip.decompress(body) if encoding == "gzip" else body)
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                for point in getattr(metric, kind).data_points:
                    number = point.sum if "histogram" in kind else point.as_int or point.as_double
                    tags = {each.key: each.value.string_value for each in point.attributes}
                    yield Received(metric.name.removeprefix(PREFIX), float(number), tags)
