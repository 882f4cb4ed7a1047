"""Calls to HDFS by WebHDFS: the NameNode's HTTP server, and that of the DataNode which it names for data.

    status, list, rename, make_folder, delete    one request to the NameNode
    create, read, checksum                       one to the NameNode, which answers where, and one to a DataNode

No request is repeated here. If a NameNode is standby, or cannot be reached, the next one is asked, and later ones begin
with the one that has answered. Once a request is sent, it may be carried out: without an answer, it fails.
"""

from __future__ import annotations

import errno
import json
import ssl
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from graph_compiler.staging.store.hdfs_store import HdfsStatus, HdfsStore
from graph_compiler.stores.hdfs import HDFS
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess

_SECONDS = 60
_SECONDS_TO_CONNECT = 20
_NUMBERS = {
    "FileNotFoundException": errno.ENOENT,
    "FileAlreadyExistsException": errno.EEXIST,
    "AccessControlException": errno.EACCES,
    "SecurityException": errno.EACCES,
}
_STANDBY = ("StandbyException", "ObserverRetryOnActiveException")
_NEEDS_A_PROOF = 401
_ASCII = "".join(map(chr, range(33, 127)))


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes


class WebHdfsClient:
    """The client of one HDFS; keys are URIs in it. It may be used by several threads, and after a fork."""

    def __init__(self, authority: str, access: HdfsAccess) -> None:
        self._place = f"{HDFS.scheme}://{authority}"
        self._access = access
        self._hosts = access.hosts or (authority.partition(":")[0],)
        self._tls = ssl.create_default_context(cafile=access.certificates) if access.has_tls else None

    def status(self, key: str) -> HdfsStatus:
        """Return what is under a name."""
        return _status(self._ask("GET", key, "GETFILESTATUS")["FileStatus"])

    def list(self, folder: str) -> list[HdfsStatus]:
        """Return what is directly in a folder."""
        found = self._ask("GET", folder, "LISTSTATUS")["FileStatuses"]["FileStatus"]
        return [_status(each) for each in found if each["pathSuffix"]]

    def create(self, key: str, content: bytes) -> None:
        """Write a new file."""
        self._data("PUT", key, "CREATE", {"overwrite": "false"}, content)

    def read(self, key: str) -> bytes:
        """Return the content of a file."""
        return self._data("GET", key, "OPEN")

    def rename(self, key: str, to: str, *, replaces: bool = False) -> None:
        """Rename in one step; without `renameoptions`, it would move into a folder."""
        options = "OVERWRITE" if replaces else "NONE"
        self._ask("PUT", key, "RENAME", {"destination": self._path(to), "renameoptions": options})

    def make_folder(self, folder: str) -> None:
        """Create a folder, and those around it."""
        self._ask("PUT", folder, "MKDIRS")

    def delete(self, key: str, *, recursive: bool) -> None:
        """Delete a file, or a folder."""
        self._ask("DELETE", key, "DELETE", {"recursive": str(recursive).lower()})

    def checksum(self, key: str) -> str:
        """Return the digest of a file's checksums."""
        found = json.loads(self._data("GET", key, "GETFILECHECKSUM"))["FileChecksum"]
        return f"{found['algorithm']}:{found['bytes']}"

    def _data(
        self,
        method: str,
        key: str,
        operation: str,
        parameters: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> bytes:
        """Ask the NameNode where the data are, and that DataNode for them."""
        where = self._ask(method, key, operation, {**(parameters or {}), "noredirect": "true"})
        place = urlsplit(where["Location"])
        # Letters that are not ASCII are in it as they are.
        address = quote(f"{place.path}?{place.query}", safe=_ASCII)
        return self._checked(key, self._sent(place.netloc, method, address, content, key)).body

    def _ask(self, method: str, key: str, operation: str, parameters: Mapping[str, str] | None = None) -> Any:
        """Return the JSON of the active NameNode's answer, None if it has none."""
        query = urlencode({"op": operation, "user.name": self._access.user_name, **(parameters or {})}, quote_via=quote)
        address = f"/webhdfs/v1{quote(self._path(key))}?{query}"
        *others, last = self._hosts
        for host in others:
            with suppress(ConnectionError):
                answer = self._sent(self._authority(host), method, address, None, key)
                if _exception(answer)[0] not in _STANDBY:
                    self._begin_with(host)
                    return self._document(key, answer)
        answer = self._sent(self._authority(last), method, address, None, key)
        if _exception(answer)[0] not in _STANDBY:
            self._begin_with(last)
        return self._document(key, answer)

    def _begin_with(self, host: str) -> None:
        """Ask a host first from now on: each request to one that is down would wait."""
        if host != self._hosts[0]:
            self._hosts = (host, *(each for each in self._hosts if each != host))

    def _document(self, key: str, answer: _Answer) -> Any:
        body = self._checked(key, answer).body
        return json.loads(body) if body else None

    def _checked(self, key: str, answer: _Answer) -> _Answer:
        """Return an answer that is not an error."""
        if answer.status < 300:
            return answer
        if answer.status == _NEEDS_A_PROOF:
            words = "HDFS requires Kerberos, which has not been tried"
            raise OSError(errno.EACCES, words, key)
        name, words = _exception(answer)
        said = f"{name}: {words}" if name else f"HTTP {answer.status}"
        raise OSError(_NUMBERS.get(name, errno.EIO), said.splitlines()[0][:500], key)

    def _sent(self, authority: str, method: str, address: str, content: bytes | None, key: str) -> _Answer:
        """Send one request; raises OSError if it is not answered, ConnectionError if it was not sent."""
        if self._tls is None:
            connection = HTTPConnection(authority, timeout=_SECONDS_TO_CONNECT)
        else:
            connection = HTTPSConnection(authority, timeout=_SECONDS_TO_CONNECT, context=self._tls)
        headers = {} if content is None else {"Content-Type": "application/octet-stream"}
        with closing(connection):
            try:
                connection.connect()
            except (HTTPException, OSError) as error:
                raise ConnectionError(errno.EIO, f"{authority} cannot be reached: {_words(error)}", key) from error
            try:
                connection.sock.settimeout(_SECONDS)
                connection.request(method, address, content, headers)
                found = connection.getresponse()
                return _Answer(found.status, found.read())
            except (HTTPException, OSError) as error:
                raise OSError(errno.EIO, f"{authority} does not answer: {_words(error)}", key) from error

    def _authority(self, host: str) -> str:
        return f"{host}:{self._access.http_port}"

    def _path(self, key: str) -> str:
        return key.removeprefix(self._place) or "/"


def _status(found: Mapping[str, Any]) -> HdfsStatus:
    return HdfsStatus(
        name=found["pathSuffix"],
        is_folder=found["type"] == "DIRECTORY",
        bytes=found["length"],
        written=found["modificationTime"] / 1000,
        id=found["fileId"],
    )


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _exception(answer: _Answer) -> tuple[str, str]:
    """Return the name and the message of a Java exception, empty if the answer has none."""
    if answer.status < 300:
        return "", ""
    try:
        found = json.loads(answer.body)["RemoteException"]
        return str(found["exception"]), str(found["message"])
    except (ValueError, KeyError, TypeError):
        return "", ""


def hdfs_by_http(authority: str, access: HdfsAccess) -> HdfsStore:
    """Return the store of one HDFS."""
    return HdfsStore(WebHdfsClient(authority, access))
