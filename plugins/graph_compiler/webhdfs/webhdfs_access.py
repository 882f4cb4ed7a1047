"""How to reach HDFS without a JVM, as an Airflow connection of type `webhdfs` says it.

    host              of the NameNode; several, separated by commas, if one of them is standby
    port              of its HTTP server; 9870, or 9871 with TLS
    login             the user, whom HDFS does not ask for a proof ("simple" authentication)
    extra: use_ssl    whether the server has TLS
           verify     a file with the certificates to trust; without it, those that this host trusts

Without a connection, the URI's host counts, and the variable HADOOP_USER_NAME of the process, else its own user.
"""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass
from typing import Self

from graph_compiler.errors import StagingError
from graph_compiler.staging.store.store_access import StoreAccess, StoreConnection
from graph_compiler.stores.hdfs import HDFS

_KEYS = ("use_ssl", "verify")
_PORT, _PORT_WITH_TLS = 9870, 9871
_USER = "HADOOP_USER_NAME"
_ON_OTHER_HOSTS = ("spark.executorEnv", "spark.yarn.appMasterEnv", "spark.kubernetes.driverEnv")


@dataclass(frozen=True, slots=True, kw_only=True)
class HdfsAccess(StoreAccess):
    """NameNodes' hosts and port, and a user; None for what the URI or the process decides."""

    hosts: tuple[str, ...] = ()
    port: int | None = None
    user: str | None = None
    has_tls: bool = False
    certificates: str | None = None

    @classmethod
    def of(cls, connection: StoreConnection) -> Self:
        hosts = tuple(filter(None, (name.strip() for name in (connection.host or "").split(","))))
        if (wrong := _why_unfit(connection, hosts)) is not None:
            raise StagingError(
                f"Airflow connection '{connection.conn_id}' of the staging root {wrong}\n"
                f"  allowed: type '{HDFS.connection_type}', the NameNode's host, its port of HTTP, the user as login, "
                f"and in the extra {' and '.join(_KEYS)}"
            )
        verify = connection.extra.get("verify")
        return cls(
            hosts=hosts,
            port=connection.port,
            user=connection.login or None,
            has_tls=connection.extra.get("use_ssl") is True,
            certificates=verify if isinstance(verify, str) else None,
        )

    @property
    def http_port(self) -> int:
        """Return the port of NameNodes' HTTP servers."""
        return self.port or (_PORT_WITH_TLS if self.has_tls else _PORT)

    @property
    def user_name(self) -> str:
        """Return the user that requests name."""
        return self.user or os.environ.get(_USER) or getpass.getuser()

    def spark_settings(self) -> dict[str, str]:
        """Return what makes drivers and executors on other hosts the same user."""
        return {f"{place}.{_USER}": self.user for place in _ON_OTHER_HOSTS if self.user is not None}

    def environment(self) -> dict[str, str]:
        """Return the user as Hadoop's client in spark-submit's process finds it."""
        return {} if self.user is None else {_USER: self.user}


def _why_unfit(connection: StoreConnection, hosts: tuple[str, ...]) -> str | None:
    extra = connection.extra
    tls, verify = extra.get("use_ssl", False), extra.get("verify", True)
    unknown = sorted(extra.keys() - set(_KEYS))
    wrong = {
        f"has type '{connection.type}', but the root is in HDFS": connection.type != HDFS.connection_type,
        "has no host": not hosts,
        "has a password: HDFS with Kerberos, or behind a gateway, has not been tried": connection.password,
        f"has {', '.join(unknown)} in its extra": unknown,
        f"has use_ssl {tls!r}, which is neither true nor false": not isinstance(tls, bool),
        "has a verify that is not a file: certificates are always checked": verify is not True
        and not isinstance(verify, str),
    }
    return next((words for words, is_so in wrong.items() if is_so), None)
