"""A store with S3's protocol, for tests: moto, one request at a time, so that of two conditional writes one wins.

    python s3_server.py PORT LOG              a line of LOG for each request (below)
    python s3_server.py PORT LOG ENDPOINT     the store at ENDPOINT instead of moto: requests are passed on to it

A line has method, path, bytes of the request and of its answer, status and agent.

It runs in an environment of its own (requirements-objects.lock). A request without a signature gets one before it is
passed on, with the keys in the AWS_… variables. `POST /_faults` with a JSON list says what happens to
the next requests that match: [{"method": "PUT", "path": "manifest", "fault": "lost", "times": 1}]

    lost       it is carried out, and the connection is closed without an answer
    dropped    it is not carried out, and the connection is closed without an answer
    busy       503, not carried out
    done-503   carried out, and answered with 503
    expired    400 ExpiredToken
    denied     403 AccessDenied
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qs, urlsplit

_ANSWERS = {
    "busy": ("503 Service Unavailable", "SlowDown"),
    "done-503": ("503 Service Unavailable", "ServiceUnavailable"),
    "expired": ("400 Bad Request", "ExpiredToken"),
    "denied": ("403 Forbidden", "AccessDenied"),
    "no-upload": ("404 Not Found", "NoSuchUpload"),  # moto answers 500
}
_NOT_CARRIED_OUT = ("dropped", "busy", "expired", "denied", "no-upload")


class FaultyApplication:
    """Passes requests on to an application, logs them, and breaks some."""

    def __init__(
        self, application: Callable[..., Iterable[bytes]], log: str, *, is_moto: bool
    ) -> None:
        self._application, self._is_moto = application, is_moto
        self._log = open(log, "a", buffering=1)  # noqa: SIM115  # until the process ends
        self._faults: list[dict[str, Any]] = []

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request."""
        method, path = environ["REQUEST_METHOD"], environ.get("RAW_URI") or environ["PATH_INFO"]
        if path == "/_faults":
            length = int(environ.get("CONTENT_LENGTH") or 0)
            self._faults = json.loads(environ["wsgi.input"].read(length) or b"[]")
            start("200 OK", [("Content-Length", "0")])
            return [b""]
        fault = self._fault(method, path)
        status = "?"

        def noting(line: str, *more: Any) -> Any:
            nonlocal status
            status = (
                line.split(maxsplit=1)[0]
                if fault is None
                else f"{fault} ({line.split(maxsplit=1)[0]})"
            )
            return start(line, *more) if fault is None else lambda _: None

        if fault is None and method == "POST" and self._is_moto and not _has_upload(path):
            fault = "no-upload"
        status = fault or "?"
        body: list[bytes] = []
        if fault is None or fault not in _NOT_CARRIED_OUT:
            body = list(self._application(environ, noting))
        else:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        size = environ.get("CONTENT_LENGTH") or "0"
        agent = str(environ.get("HTTP_USER_AGENT", "-")).split("/")[0]
        self._log.write(f"{method} {path} {size} {sum(map(len, body))} {status} {agent}\n")
        if fault is None:
            return body
        if fault in _ANSWERS:
            line, code = _ANSWERS[fault]
            error = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
            start(line, [("Content-Type", "application/xml"), ("Content-Length", str(len(error)))])
            return [error]
        environ["werkzeug.socket"].shutdown(2)
        raise ConnectionAbortedError(fault)

    def _fault(self, method: str, path: str) -> str | None:
        for each in self._faults:
            if each["times"] > 0 and each["method"] == method and each["path"] in path:
                each["times"] -= 1
                return str(each["fault"])
        return None


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
        method, path = environ["REQUEST_METHOD"], environ.get("RAW_URI") or environ["PATH_INFO"]
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
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


_OF_CONNECTIONS = (
    "connection",
    "content-length",
    "keep-alive",
    "server",
    "date",
    "transfer-encoding",
)


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
    served = (
        DomainDispatcherApplication(create_backend_app)
        if endpoint is None
        else Forwarding(endpoint)
    )
    application = FaultyApplication(served, log, is_moto=is_moto)
    run_simple("127.0.0.1", int(port), application, threaded=not is_moto)


if __name__ == "__main__":
    main(*sys.argv[1:])
