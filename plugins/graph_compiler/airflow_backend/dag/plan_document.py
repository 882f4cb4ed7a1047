"""The plan in the serialized Dag, so that Airflow's Dag versions keep the plan of every run.

The web server has no declarations: all its knowledge about a plan comes from here. The document is compressed with
bzip2, whose output is the same everywhere; that of zlib differs between builds, and every difference would create a Dag
version.
"""

from __future__ import annotations

import base64
import bz2
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from graph_compiler.errors import DescriptorError
from graph_compiler.explain.plan.plan import Plan, PlanDocument

Found = TypeVar("Found")
TAG = "graph_compiler"
"""The tag of every Dag that carries a plan."""
PLAN_DOCUMENT = "plan_document"
"""The task's field that carries it."""
_MOST_BYTES = 32 * 2**20
"""Enough for more than 15,000 vertices; without a limit, 632 letters could fill the memory of the reading process."""


def packed(plan: Plan) -> str:
    """Return the document of a plan: ASCII text that depends only on the declaration."""
    text = json.dumps(plan.document(), separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(bz2.compress(text.encode())).decode("ascii")


def unpack(text: str) -> PlanDocument:
    """Read a document; raises DescriptorError if it is invalid, or of another version."""
    try:
        document = json.loads(_decompressed(base64.b64decode(text, validate=True)))
    except (ValueError, OSError, RecursionError) as error:
        raise DescriptorError(f"the plan of the Dag cannot be read: {error}") from None
    return PlanDocument.of(document)


def _decompressed(packed: bytes) -> bytes:
    reader = bz2.BZ2Decompressor()
    found = reader.decompress(packed, _MOST_BYTES)
    if not reader.eof:
        raise ValueError(f"it is truncated, or larger than {_MOST_BYTES} bytes")
    return found


def find_plans(serialized_dag: Mapping[str, Any] | None) -> dict[str, PlanDocument]:
    """Return the plans in a serialized Dag, by the group path of their tasks: empty for a pipeline's own Dag.

    Raises DescriptorError like `unpack`.
    """
    tasks = ((serialized_dag or {}).get("dag") or {}).get("tasks") or []
    found: dict[str, PlanDocument] = {}
    for task in (task.get("__var", task) for task in tasks):
        if isinstance(text := task.get(PLAN_DOCUMENT), str):
            plan = unpack(text)
            found[_group_path(str(task.get("task_id", "")), plan.view)] = plan
    return found


def of_group(found: Mapping[str, Found], group: str) -> Found | None:
    """Return what belongs to a group; for none, the first if the Dag has pipelines in groups only."""
    return found.get(group) if group in found or group else next(iter(found.values()), None)


def _group_path(task_id: str, view: Mapping[str, Any]) -> str:
    """Return the path of groups before a task's name: the first task of a plan carries it."""
    name = view["regions"][0]["task"] if view.get("regions") else task_id
    return task_id.removesuffix(str(name)).removesuffix(".")
