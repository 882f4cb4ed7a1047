"""How to reach S3, as an Airflow connection of type `aws` says it.

    login, password                    access key and secret key
    extra: aws_session_token           of temporary credentials
           region_name, endpoint_url   of a store with S3's protocol, the endpoint; http or https
           config_kwargs               {"s3": {"addressing_style": "path" or "virtual"}}

Without a connection, or without keys in it, the process's own identity counts: variables `AWS_…`, else the host's role.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from graph_compiler.errors import StagingError
from graph_compiler.staging.store.store_access import StoreAccess, StoreConnection

_KEYS = (
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "region_name",
    "endpoint_url",
    "config_kwargs",
)
_DEFAULT_REGION = "us-east-1"
_STYLES = ("path", "virtual", "auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Access(StoreAccess):
    """An endpoint, a region, and credentials; None for what the process or the store decides itself."""

    region: str | None = None
    endpoint: str | None = None
    is_path_style: bool | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, connection: StoreConnection) -> Self:
        conn_id, extra = connection.conn_id, connection.extra
        if unknown := sorted(extra.keys() - set(_KEYS)):
            raise StagingError(
                f"Airflow connection '{conn_id}' of the staging root has {', '.join(unknown)} in its extra\n"
                f"  allowed: {', '.join(_KEYS)}\n"
                "  hint: for a role, leave out the keys: the identity of the worker and of the cluster counts then"
            )
        access_key = connection.login or extra.get("aws_access_key_id")
        secret_key = connection.password or extra.get("aws_secret_access_key")
        if bool(access_key) is not bool(secret_key):
            raise StagingError(
                f"Airflow connection '{conn_id}' of the staging root has only one of login and password\n"
                "  allowed: the access key as login and the secret key as password, or neither"
            )
        endpoint = _text(extra.get("endpoint_url"))
        style = ((extra.get("config_kwargs") or {}).get("s3") or {}).get("addressing_style")
        if style is not None and style not in _STYLES:
            raise StagingError(
                f"Airflow connection '{conn_id}' of the staging root has addressing_style {style!r}\n"
                f"  allowed: {', '.join(_STYLES)}"
            )
        is_path_style = {"path": True, "virtual": False}.get(style or "auto")
        if is_path_style is None and endpoint is not None:
            is_path_style = True  # a store of one's own rarely has a name for each bucket
        return cls(
            region=_text(extra.get("region_name")),
            endpoint=endpoint,
            is_path_style=is_path_style,
            access_key=_text(access_key),
            secret_key=_text(secret_key),
            token=_text(extra.get("aws_session_token")),
        )

    @property
    def has_keys(self) -> bool:
        return bool(self.environment())

    def spark_settings(self) -> dict[str, str]:
        return {f"spark.hadoop.fs.s3a.{key}": value for key, value in self._settings()}

    def _settings(self) -> Iterator[tuple[str, str]]:
        if self.endpoint is not None:
            yield "endpoint", self.endpoint
        if self.region is not None or self.endpoint is not None:
            yield "endpoint.region", self.region or _DEFAULT_REGION
        if self.is_path_style is not None:
            yield "path.style.access", str(self.is_path_style).lower()

    def environment(self) -> dict[str, str]:
        """Return the credentials as variables: S3A looks for them, and Spark passes them on to executors."""
        found = {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_SESSION_TOKEN": self.token,
        }
        return {name: value for name, value in found.items() if value is not None}


def _text(value: object) -> str | None:
    return None if value is None or value == "" else str(value)
