"""A mail server on loopback that keeps what it is sent: enough of SMTP for Airflow's provider."""

from __future__ import annotations

import email.policy
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, cast

_LONGEST = 1_000_000


@dataclass
class MailServer:
    """Its port and mails; `recipients` are those of each mail's envelope. `answers` replace those to a command."""

    port: int = 0
    raw: list[bytes] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)

    @property
    def mails(self) -> list[EmailMessage]:
        """The mails as a reader of mail decodes them."""
        policy: Any = email.policy.default
        return [cast("EmailMessage", message_from_bytes(one, policy=policy)) for one in self.raw]

    def connection(self, **extra: object) -> str:
        """Return Airflow's connection to it, as a variable of the environment has it."""
        plain = {"disable_tls": True, "disable_ssl": True, "from_email": "airflow@example.com"}
        return json.dumps({"conn_type": "smtp", "host": "127.0.0.1", "port": self.port, "extra": plain | extra})


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """Run a server on a free port until the end of the block."""
    found = MailServer()

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            _talk(self, found)

    class Server(ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        found.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()


def part(mail: EmailMessage, kind: str) -> str:
    """Return the text of the part that is text of a kind: plain, html."""
    (found,) = [one for one in mail.walk() if one.get_content_type() == f"text/{kind}"]
    return str(found.get_content())


def _talk(handler: StreamRequestHandler, server: MailServer) -> None:
    def say(line: str) -> None:
        handler.wfile.write(f"{line}\r\n".encode())

    say("220 ready")
    recipients: list[str] = []
    while line := handler.rfile.readline(_LONGEST).decode("ascii").strip():
        command = line.split()[0].upper()
        if command in server.answers:
            say(server.answers[command])
        elif command == "DATA":
            say("354 go on")
            server.raw.append(b"".join(_data(handler)))
            server.recipients.append(recipients)
            recipients = []
            say("250 kept")
        elif command == "QUIT":
            say("221 bye")
            return
        else:
            if command == "RCPT":
                recipients.append(line.split("<")[1].rstrip(">").split(">")[0])
            say("250 good")


def _data(handler: StreamRequestHandler) -> Iterator[bytes]:
    while (line := handler.rfile.readline(_LONGEST)) not in (b".\r\n", b""):
        yield line.removeprefix(b".") if line.startswith(b"..") else line
