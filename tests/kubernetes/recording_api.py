"""A Kubernetes API server that keeps what it is sent, for tests: nothing runs, and a test says what becomes of a pod.

Spark's submission and Airflow's provider speak to it as to a real one, in HTTP on loopback.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlparse

Resource = dict[str, Any]
_PHASE_AT_START = "Pending"
_WRITING = ("POST", "PUT", "PATCH")


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    body: str


@dataclass
class RecordingApi:
    """What was sent, and the resources that were written and those that are there, by kind in the plural and name."""

    requests: list[Request] = field(default_factory=list)
    written: dict[tuple[str, str], Resource] = field(default_factory=dict)
    resources: dict[tuple[str, str], Resource] = field(default_factory=dict)
    on_pod: Callable[[Resource], None] = lambda _: None
    """Called with each new pod, in a thread of its own: it plays the cluster."""
    on_end: Callable[[str], None] = lambda _: None
    """Called with the name of each pod that is deleted."""
    is_silent: bool = False
    """Whether it answers every request with an error."""
    address: str = ""

    def pods(self) -> list[str]:
        """Return the names of the pods that were ever created."""
        created = [json.loads(it.body) for it in self.requests if _creates_a_pod(it)]
        return [str(body["metadata"]["name"]) for body in created]

    def has_pods(self) -> bool:
        """Whether a pod is there."""
        return any(kind == "pods" for kind, _ in self.resources)

    def set_phase(self, pod: str, phase: str) -> None:
        """Let a pod be Running, Succeeded or Failed."""
        self.resources["pods", pod]["status"] = {"phase": phase}

    def remove(self, pod: str) -> None:
        """Let a pod be gone."""
        del self.resources["pods", pod]

    def answer(self, request: Request) -> tuple[int, Resource]:
        """Carry out a request; return the status and the body of the answer."""
        if self.is_silent:
            return 503, _status("Failure", 503)
        self.requests.append(request)
        parts = [part for part in urlparse(request.path).path.split("/") if part]
        if request.method in _WRITING:
            return self._write(request, parts)
        key = (parts[-2], parts[-1]) if len(parts) > 1 else ("", "")
        found = self.resources.get(key)
        if found is None:
            return 404, _status("Failure", 404)
        if request.method == "DELETE":
            del self.resources[key]
            if key[0] == "pods":
                self.on_end(key[1])
            return 200, _status("Success", 200)
        return 200, found

    def _write(self, request: Request, parts: list[str]) -> tuple[int, Resource]:
        resource: Resource = json.loads(request.body)
        metadata = resource.setdefault("metadata", {})
        name = metadata.setdefault("name", parts[-1])
        kind = parts[-1] if request.method == "POST" else parts[-2]
        metadata |= {"uid": f"uid-of-{name}", "resourceVersion": str(len(self.requests))}
        self.written[kind, name] = self.resources[kind, name] = resource
        if _creates_a_pod(request):
            resource["status"] = {"phase": _PHASE_AT_START}
            threading.Thread(target=self.on_pod, args=[resource], daemon=True).start()
        return 201 if request.method == "POST" else 200, resource


def _creates_a_pod(request: Request) -> bool:
    return request.method == "POST" and urlparse(request.path).path.endswith("/pods")


def _status(status: str, code: int) -> Resource:
    reason = {} if code == 200 else {"reason": "NotFound"}
    return {"kind": "Status", "apiVersion": "v1", "status": status, "code": code} | reason


@contextmanager
def recording_api() -> Iterator[RecordingApi]:
    """Serve on a free port of loopback; it ends with the block."""
    api = RecordingApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def carry_out(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            code, answer = api.answer(Request(self.command, self.path, body))
            content = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write nothing: requests are kept."""

    for method in ("GET", "DELETE", *_WRITING):
        setattr(Handler, f"do_{method}", Handler.carry_out)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
