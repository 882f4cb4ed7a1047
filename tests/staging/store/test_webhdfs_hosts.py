"""Which NameNode WebHDFS's client asks, if one of several is down, unknown, standby or silent; on loopback."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from graph_compiler.webhdfs import webhdfs_client
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess
from graph_compiler.webhdfs.webhdfs_client import WebHdfsClient

ACTIVE, STANDBY, SILENT = "127.0.0.1", "127.0.0.2", "127.0.0.3"
UNKNOWN, REFUSES, DOWN, UNROUTED = "nn.invalid", "127.0.0.4", "down", "unrouted"
KEY = "hdfs://ns/a"
FOUND = {"FileStatus": {"pathSuffix": "", "type": "FILE", "length": 1, "modificationTime": 0, "fileId": 5}}
STANDS_BY = {"RemoteException": {"exception": "StandbyException", "message": "standby"}}
PROBLEMS = {
    DOWN: TimeoutError("timed out"),
    UNROUTED: OSError(113, "No route to host"),
    UNKNOWN: socket.gaierror(-2, "Name or service not known"),
}


@dataclass
class NameNodes:
    """Three hosts with one port; `asked` has the hosts that have got a request, `connected` those that were tried."""

    port: int = 0
    active: str = ACTIVE
    asked: list[str] = field(default_factory=list)
    connected: list[str] = field(default_factory=list)
    end: threading.Event = field(default_factory=threading.Event)

    def client(self, *hosts: str) -> WebHdfsClient:
        return WebHdfsClient("ns", HdfsAccess(hosts=hosts, port=self.port, user="u"))

    def serve(self, host: str) -> HTTPServer:
        """Start a host's server."""
        nodes = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                nodes.asked.append(host)
                if host == SILENT:
                    nodes.end.wait(5)
                    return
                content = json.dumps(FOUND if host == nodes.active else STANDS_BY).encode()
                self.send_response(200 if host == nodes.active else 403)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_DELETE = answer  # noqa: N815  # the names of http.server

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = HTTPServer((host, self.port), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameNodes]:
    found, connect = NameNodes(), socket.create_connection
    first = found.serve(ACTIVE)
    found.port = first.server_port
    servers = [first, found.serve(STANDBY), found.serve(SILENT)]

    def connected(address: tuple[str, int], timeout: float, *more: Any) -> socket.socket:
        found.connected.append(address[0])
        if (problem := PROBLEMS.get(address[0])) is not None:
            raise problem
        return connect(address, timeout, *more)

    monkeypatch.setattr(socket, "create_connection", connected)
    monkeypatch.setattr(webhdfs_client, "_SECONDS", 0.2)
    yield found
    found.end.set()
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("first", [UNKNOWN, REFUSES, DOWN, UNROUTED, STANDBY])
@pytest.mark.parametrize("call", ["status", "delete"])
def test_the_next_host_is_asked_if_one_is_not_reached_or_standby(nodes: NameNodes, first: str, call: str) -> None:
    client = nodes.client(first, ACTIVE)
    for _ in range(3):
        if call == "status":
            assert client.status(KEY).id == 5
        else:
            client.delete(KEY, recursive=False)
    assert nodes.connected == [first, *[ACTIVE] * 3]  # a host that is down is not waited for each time
    assert nodes.asked.count(ACTIVE) == 3


def test_a_request_that_is_sent_and_not_answered_is_not_sent_to_another(nodes: NameNodes) -> None:
    with pytest.raises(OSError, match=rf"{SILENT}:\d+ does not answer: timed out"):
        nodes.client(SILENT, ACTIVE).delete(KEY, recursive=False)
    assert nodes.asked == [SILENT]


def test_a_host_that_is_not_active_any_more_is_left(nodes: NameNodes) -> None:
    client = nodes.client(REFUSES, ACTIVE, STANDBY)
    client.status(KEY)
    nodes.active = STANDBY
    for _ in range(2):
        assert client.status(KEY).id == 5
    assert nodes.connected == [REFUSES, ACTIVE, ACTIVE, REFUSES, STANDBY, STANDBY]


def test_if_no_host_is_reached_the_message_says_why(nodes: NameNodes) -> None:
    with pytest.raises(OSError, match=rf"{DOWN}:\d+ cannot be reached: timed out") as raised:
        nodes.client(UNKNOWN, DOWN).status(KEY)
    assert raised.value.filename == KEY
    assert nodes.asked == []
