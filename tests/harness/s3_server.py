"""A store with S3's protocol, for tests: moto, one request at a time, so that of two conditional writes one wins.

    python s3_server.py PORT LOG              a line of LOG for each request (below)
    python s3_server.py PORT LOG ENDPOINT     the store at ENDPOINT instead of moto: requests are passed on to it

A line has method, path, bytes of the request and of its answer, status and agent.

It runs in an environment of its own (requirements-objects.lock). A request without a signature gets one before it is
passed on, with the keys in the AWS_… variables. `POST /_faults` with a JSON list says what happens to
the next requests that match (`Rule`): [{"method": "PUT", "path": "/manifests/", "fault": "lost"}]

    lost       it is carried out, and the connection is closed without an answer
    dropped    it is not carried out, and the connection is closed without an answer
    cut        half of it is read, and the connection is closed
    late       the connection is closed without an answer, and it is carried out 30 s later
    twice      it is carried out twice; the answer is that to the second
    busy       503, not carried out
    done-503   carried out, and answered with 503
    expired    400 ExpiredToken
    denied     403 AccessDenied
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from io import BytesIO
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_ANSWERS = {
    "busy": ("503 Service Unavailable", "SlowDown"),
    "done-503": ("503 Service Unavailable", "ServiceUnavailable"),
    "expired": ("400 Bad Request", "ExpiredToken"),
    "denied": ("403 Forbidden", "AccessDenied"),
    "no-upload": ("404 Not Found", "NoSuchUpload"),  # moto answers 500
}
_LATE = 30
"""Seconds."""


@dataclass
class Rule:
    """What happens to the next `times` requests whose method and path match these patterns.

    It begins when a request whose path matches `after` has been carried out, and ends `seconds` after its first
    request, or with the process `lives_with`. `command` runs with the first: before the request is answered, and after
    it is carried out, if it is. What it prints are further rules.
    """

    fault: str
    method: str = ".*"
    path: str = ""
    times: int = 1
    after: str = ""
    seconds: float | None = None
    lives_with: int | None = None
    command: list[str] = field(default_factory=list)
    _began: float | None = None

    def applies(self, method: str, path: str) -> bool:
        """Whether this request is hit; it counts then."""
        if self.after or self.times <= 0 or self._has_ended():
            return False
        if not re.fullmatch(self.method, method) or not re.search(self.path, path):
            return False
        self._began = self._began or time.monotonic()
        self.times -= 1
        return True

    def note(self, path: str) -> None:
        """Begin if this request is what is waited for."""
        if self.after and re.search(self.after, path):
            self.after = ""

    def further(self) -> list[Rule]:
        """Run the command once; return the rules that it prints."""
        if not self.command:
            return []
        command, self.command = self.command, []
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        return [Rule(**each) for each in json.loads(done.stdout or b"[]")]

    def _has_ended(self) -> bool:
        if self.lives_with is not None and not os.path.exists(f"/proc/{self.lives_with}"):
            return True
        began = self._began
        return self.seconds is not None and began is not None and time.monotonic() - began > self.seconds


class FaultyApplication:
    """Passes requests on to an application, logs them, and breaks some."""

    def __init__(self, application: Callable[..., Iterable[bytes]], log: str, *, is_moto: bool) -> None:
        self._application, self._is_moto = application, is_moto
        self._log = open(log, "a", buffering=1)  # noqa: SIM115  # until the process ends
        self._rules: list[Rule] = []
        self._choice = Lock()
        self._late: list[tuple[float, dict[str, Any]]] = []

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request."""
        method, path = environ["REQUEST_METHOD"], _path(environ)
        if path == "/_faults":
            self._rules = [Rule(**each) for each in json.loads(_body(environ) or b"[]")]
            start("200 OK", [("Content-Length", "0")])
            return [b""]
        self._carry_out_late()
        rule = self._rule(method, unquote(path))
        fault = None if rule is None else rule.fault
        if fault is None and method == "POST" and self._is_moto and not _has_upload(path):
            fault = "no-upload"
        answer = self._carried_out(environ, fault)
        self._log_request(environ, answer, fault)
        if rule is not None:
            self._rules += rule.further()
        for each in self._rules:
            each.note(unquote(path))
        if fault in (None, "twice"):
            start(*answer.start)
            return answer.body
        assert fault is not None
        if fault in _ANSWERS:
            line, code = _ANSWERS[fault]
            error = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
            start(line, [("Content-Type", "application/xml"), ("Content-Length", str(len(error)))])
            return [error]
        with suppress(OSError):  # the other side has ended
            environ["werkzeug.socket"].shutdown(2)
        raise ConnectionAbortedError(fault)

    def _carried_out(self, environ: dict[str, Any], fault: str | None) -> Answer:
        """Carry out a request as its fault says; return the answer to it, empty if it is not carried out."""
        match fault:
            case "cut":
                environ["wsgi.input"].read(_length(environ) // 2)
            case "late":
                kept = environ | {"wsgi.input": BytesIO(_body(environ))}
                self._late.append((time.monotonic() + _LATE, kept))
            case "twice":
                content = _body(environ)
                self._answer(environ | {"wsgi.input": BytesIO(content)})
                return self._answer(environ | {"wsgi.input": BytesIO(content)})
            case "dropped" | "busy" | "expired" | "denied" | "no-upload":
                _body(environ)
            case _:
                return self._answer(environ)
        return Answer()

    def _answer(self, environ: dict[str, Any]) -> Answer:
        answer = Answer()

        def started(*said: Any) -> None:
            answer.start = said

        answer.body = list(self._application(environ, started))
        return answer

    def _rule(self, method: str, path: str) -> Rule | None:
        with self._choice:
            return next((rule for rule in self._rules if rule.applies(method, path)), None)

    def _carry_out_late(self) -> None:
        """Carry out what is late, before another request."""
        now = time.monotonic()
        due = [kept for at, kept in self._late if at <= now]
        self._late = [each for each in self._late if each[0] > now]
        for kept in due:
            self._log_request(kept, self._answer(kept), "late")

    def _log_request(self, environ: dict[str, Any], answer: Answer, fault: str | None) -> None:
        method, size = environ["REQUEST_METHOD"], _length(environ)
        agent = str(environ.get("HTTP_USER_AGENT", "-")).split("/")[0]
        answered = f" ({answer.status})" if answer.start else ""
        status = f"{fault}{answered}" if fault else answer.status
        bytes_ = sum(map(len, answer.body))
        self._log.write(f"{method} {_path(environ)} {size} {bytes_} {status} {agent}\n")


@dataclass
class Answer:
    """What an application has answered."""

    start: tuple[Any, ...] = ()
    body: list[bytes] = field(default_factory=list)

    @property
    def status(self) -> str:
        return str(self.start[0]).split(maxsplit=1)[0] if self.start else "?"


def _path(environ: dict[str, Any]) -> str:
    return str(environ.get("RAW_URI") or environ["PATH_INFO"])


def _length(environ: dict[str, Any]) -> int:
    return int(environ.get("CONTENT_LENGTH") or 0)


def _body(environ: dict[str, Any]) -> bytes:
    return bytes(environ["wsgi.input"].read(_length(environ)))


def _has_upload(path: str) -> bool:
    """Whether the upload that a request completes has been neither completed nor aborted; True without one."""
    from moto.s3.models import s3_backends

    wanted = parse_qs(urlsplit(path).query).get("uploadId")
    return wanted is None or any(
        wanted[0] in bucket.multiparts
        for account in s3_backends.values()
        for backend in account.values()
        for bucket in backend.buckets.values()
    )


class Forwarding:
    """A WSGI application that passes requests on, signed by whoever sent them, with the host that they name."""

    def __init__(self, endpoint: str) -> None:
        self._address = urlsplit(endpoint).netloc

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Pass one request on, and its answer back."""
        method, path = environ["REQUEST_METHOD"], _path(environ)
        body = _body(environ)
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").title(): value
            for name, value in environ.items()
            if name.startswith("HTTP_") and name not in ("HTTP_CONNECTION", "HTTP_EXPECT")
        }
        if environ.get("CONTENT_TYPE"):
            headers["Content-Type"] = environ["CONTENT_TYPE"]
        if "Authorization" not in headers:
            headers |= _signed(method, f"http://{environ['HTTP_HOST']}{path}", body)
        connection = HTTPConnection(self._address, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in (headers | {"Content-Length": str(len(body))}).items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        kept = [it for it in answer.getheaders() if it[0].lower() not in _OF_CONNECTIONS]
        if method == "HEAD":
            kept += [("Content-Length", answer.getheader("Content-Length") or "0")]
        else:
            kept += [("Content-Length", str(len(content)))]
        start(f"{answer.status} {answer.reason}", kept)
        return [content]


_OF_CONNECTIONS = ("connection", "content-length", "keep-alive", "server", "date", "transfer-encoding")


def _signed(method: str, url: str, body: bytes) -> dict[str, str]:
    """Return the headers that sign a request."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    keys = Credentials(os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"])
    request = AWSRequest(method=method, url=url, data=body)
    S3SigV4Auth(keys, "s3", "us-east-1").add_auth(request)
    return dict(request.headers.items())


def main(port: str, log: str, endpoint: str | None = None) -> None:
    """Serve on a port of loopback."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    is_moto = endpoint is None
    served = DomainDispatcherApplication(create_backend_app) if endpoint is None else Forwarding(endpoint)
    application = FaultyApplication(served, log, is_moto=is_moto)
    run_simple("127.0.0.1", int(port), application, threaded=not is_moto)


if __name__ == "__main__":
    main(*sys.argv[1:])
