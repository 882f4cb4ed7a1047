"""The stores of this room: a bucket with S3's rules, and HDFS."""

from __future__ import annotations

import json
from dataclasses import asdict

from graph_compiler.staging.publications.preparations import WRITING
from graph_compiler.staging.store.deferred_files import DeferredFile
from graph_compiler.staging.store.hdfs_store import HdfsStore
from tests.machine.in_stores.bucket import Bucket
from tests.machine.in_stores.bucket_client import PENDING, BucketClient
from tests.machine.in_stores.name_node import NameNode
from tests.machine.in_stores.name_node_client import NameNodeClient
from tests.machine.in_stores.server import Ground


def bucket_ground(*, confirms: bool = False) -> Ground:
    """Return an empty bucket; `confirms`: see `Bucket`."""
    bucket = Bucket(confirms=confirms)

    def upload(folder: str, name: str, content: bytes) -> None:
        target, writes_later, _ = folder.partition(f"/{WRITING}")
        if not writes_later:
            bucket.put(f"{folder}/{name}", content)
            return
        key = f"{target}/{name}"
        file = DeferredFile(key=key, bytes=len(content), ticket=bucket.upload(key, content))
        bucket.put(f"{folder}/{name}{PENDING}", json.dumps(asdict(file)).encode())
        bucket.put(f"{folder}/{name}", b"")

    def write(folder: str, name: str, content: bytes) -> None:
        upload(folder, name.replace("c000", "c001"), content)  # of an attempt that does not count
        upload(folder, name, content)

    return Ground("bucket", "s3a://lake", bucket, lambda line: BucketClient(bucket, line), write)


def hdfs_ground() -> Ground:
    """Return an empty HDFS."""
    node = NameNode()

    def write(folder: str, name: str, content: bytes) -> None:
        node.put(f"{folder}/_temporary/0/{name}", content)  # the same
        node.put(f"{folder}/{name}", content)

    return Ground("hdfs", "hdfs://nn/lake", node, lambda line: HdfsStore(NameNodeClient(node, line)), write)
