"""S3, and stores with its protocol: Hadoop's S3A on the driver, obstore on Airflow's side (decisions 46 and 47)."""

from __future__ import annotations

import re

from graph_compiler.stores.store_kind import (
    DatasetNames,
    PlaceInStore,
    Promises,
    PythonPackage,
    SparkPackage,
    StoreKind,
)

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_PREFIX = re.compile(r"[\w!.*'()=~/-]*", re.ASCII)
_SETTINGS = "spark.hadoop.fs.s3a."


def _why_no_prefix(place: PlaceInStore) -> str | None:
    if _BUCKET.fullmatch(place.authority) is None:
        return f"'{place.authority}' is not the name of a bucket"
    if place.has_dots:
        return "it contains '.' or '..', which are ordinary names in an object store"
    if _PREFIX.fullmatch(place.path) is None:
        return "its prefix has characters besides letters, digits and !.*'()=~_-"
    return None


S3A = StoreKind(
    scheme="s3a",
    form="s3a://bucket/prefix",
    promises=Promises(conditional_put=True, atomic_move=False, atomic_exchange=False, deferred_files=True),
    driver="graph_compiler.spark_runtime.stores.s3a_store:S3aStore",
    airflow="graph_compiler.object_stores.s3_store:ObjectStore",
    access="graph_compiler.object_stores.s3_access:S3Access",
    why_unfit=_why_no_prefix,
    other_names=("s3", "s3n"),
    asset_scheme="s3",
    names=DatasetNames.KEY,
    spark_package=SparkPackage(group="org.apache.hadoop", artifact="hadoop-aws", has_hadoops_version=True),
    python_package=PythonPackage(
        module="obstore", install="pip install 'obstore>=0.9' where Airflow and the command line run"
    ),
    serves_disk_roots=True,
    key_settings=(
        ("AWS_ACCESS_KEY_ID", f"{_SETTINGS}access.key"),
        ("AWS_SECRET_ACCESS_KEY", f"{_SETTINGS}secret.key"),
        ("AWS_SESSION_TOKEN", f"{_SETTINGS}session.token"),
    ),
    no_key_settings=(f"{_SETTINGS}aws.credentials.provider",),
)
