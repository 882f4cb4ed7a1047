"""What is true of a store wherever it is asked: in a declaration, in Airflow's processes, and on the driver.

    s3a://lake/staging
    │     │    └ path      names in the store
    │     └ authority      a bucket, or a host with its port
    └ scheme               the store: a StoreKind

Two modules know how to reach the store: one for Airflow's side, one for the driver. A kind names them, and only the
process that needs one imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """What a store can do in one step; a publication chooses its protocol by these, not by the scheme.

    `conditional_put`: of several writers of a key one wins; every staging root needs it. `atomic_move`: a folder has
    one name or the other. `atomic_exchange`: two folders take each other's place; without it, files are moved one by
    one, and readers see a mixture for a while. `deferred_files`: a file that is written appears later, in one step
    (`DeferringStore`). A publication of files needs `atomic_move` or this. `atomic_replace`: a file that is renamed
    takes the place of another one in the same step; a target that is one file needs this or `deferred_files`.
    """

    conditional_put: bool
    atomic_move: bool
    atomic_exchange: bool
    deferred_files: bool = False
    atomic_replace: bool = False

    @property
    def publishes_one_file(self) -> bool:
        """Whether a file can take the place of another one in one step."""
        return self.atomic_replace or self.deferred_files


@dataclass(frozen=True, slots=True)
class PlaceInStore:
    """A place in a store, in parts; `path` is empty, or begins with a slash."""

    authority: str
    path: str

    @property
    def names(self) -> list[str]:
        """Return the names of the path; empty ones are left out."""
        return [name for name in self.path.split("/") if name]

    @property
    def has_dots(self) -> bool:
        """Whether `.` or `..` is among the names."""
        return not {".", ".."}.isdisjoint(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkPackage:
    """A package of Spark's, by group and artifact."""

    group: str
    artifact: str
    has_hadoops_version: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPackage:
    """A package that Airflow's side imports, and the command that installs it."""

    module: str
    install: str


class DatasetNames(StrEnum):
    """How OpenLineage names what is in a file system: as a path, as a key without its first slash, or as a table."""

    PATH = "PATH"
    KEY = "KEY"
    TABLE = "TABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKind:
    """A store, by the scheme of its places; everything that depends on the store asks this value.

    Three names, `module:name`, are imported where they are needed. `driver` opens a store in the driver's process, from
    `scheme://authority/`. `airflow` opens one on Airflow's side, from its authority and a StoreAccess. `access` is the
    class of that, if the store needs more than the identity of the process.
    """

    scheme: str
    form: str
    """A place, for messages: `s3a://bucket/prefix`."""
    promises: Promises
    """As the driver reaches it."""
    driver: str
    airflow: str
    access: str = "graph_compiler.staging.store.store_access:StoreAccess"
    why_unfit: Callable[[PlaceInStore], str | None]
    """Return why a place cannot be a folder of this store, None if it can; no file or host is asked."""
    why_no_authority: str | None = None
    """Why `scheme:/path` is refused; None if it is taken for another scheme."""
    default_port: str = ""
    """What places with and without it have in common: `:8020`."""
    other_names: tuple[str, ...] = ()
    """Schemes that others use for the same places; declarations must not."""
    asset_scheme: str | None = None
    """The scheme of its places as Airflow's assets, if it differs."""
    names: DatasetNames = DatasetNames.TABLE
    spark_package: SparkPackage | None = None
    """What Spark needs besides its own jars."""
    python_package: PythonPackage | None = None
    """What Airflow's side needs besides the standard library."""
    connection_type: str | None = None
    """The only type that an Airflow connection to it may have; None for any."""
    serves_disk_roots: bool = False
    """Whether the connection of a staging root on a disk is for this store: that of targets and sources."""
    key_settings: tuple[tuple[str, str], ...] = ()
    """Variables with the keys of the driver's process, and the settings with which executors get them."""
    put_command: str | None = None
    """A shell command that puts its input in place of what is at `{}`, which is a place without scheme and colon."""
    no_key_settings: tuple[str, ...] = ()
    """Settings of a deployment that decides itself how executors reach the store."""
