"""HDFS: Hadoop's client on the driver, WebHDFS on Airflow's side (decision 48)."""

from __future__ import annotations

import re

from graph_compiler.stores.store_kind import DatasetNames, PlaceInStore, Promises, StoreKind

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?", re.ASCII | re.IGNORECASE)
_FOLDER = re.compile(r"[\w.=~/-]*", re.ASCII)
_NO_NAMENODE = "it names no NameNode, so each host could find a different place; write hdfs://host:port/path"


def _why_no_folder(place: PlaceInStore) -> str | None:
    if not place.authority:
        return _NO_NAMENODE
    if _HOST.fullmatch(place.authority) is None:
        return f"'{place.authority}' is not the name of a host, with a port if there is one"
    if not place.names:
        return "it is a whole file system: name a folder in it"
    if place.has_dots:
        return "it contains '.' or '..', which HDFS refuses"
    if _FOLDER.fullmatch(place.path) is None:
        return "its path has characters besides letters, digits and .=~_-"
    return None


HDFS = StoreKind(
    scheme="hdfs",
    form="hdfs://host:port/path",
    promises=Promises(conditional_put=True, atomic_move=True, atomic_exchange=False, atomic_replace=True),
    driver="graph_compiler.spark_runtime.stores.hdfs_client:hdfs_in_jvm",
    airflow="graph_compiler.webhdfs.webhdfs_client:hdfs_by_http",
    access="graph_compiler.webhdfs.webhdfs_access:HdfsAccess",
    why_unfit=_why_no_folder,
    why_no_authority=_NO_NAMENODE,
    default_port=":8020",
    names=DatasetNames.PATH,
    connection_type="webhdfs",
    put_command="hdfs dfs -put -f - hdfs:{}",
)
