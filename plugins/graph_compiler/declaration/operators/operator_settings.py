"""The settings of operators of any kind: one value, from the declaration to Spark.

    orders.filter("paid").uid("paid").set_parallelism(4)   →   OperatorSettings(uid="paid", parallelism=4)

To add one: a field here (in `RuntimeSettings` if Spark needs it), and a method that sets it in `declaration/streams/`.
The method's name is its key in YAML.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from graph_compiler.declaration.resources.resource_spec import ResourceSpec
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings:
    """The settings that Spark needs; an operator's descriptor has them.

    `parallelism` None: adaptive execution decides. `deterministic`: the operator is declared to give the same rows
    whenever it is recomputed.
    """

    parallelism: int | None = None
    deterministic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSettings(RuntimeSettings):
    """All settings, as declared; None means not set on this operator.

    `resource_profile` is the group as declared here, if more than its name was given; resources None are unknown.
    `expensive`: recomputing it should be avoided, so AUTO stages its result. `buffer_timeout`: in milliseconds, after
    which Flink sends a buffer that is not full; -1 waits until it is.
    """

    description: str | None = None
    uid: str | None = None
    uid_hash: str | None = None
    max_parallelism: int | None = None
    slot_sharing_group: str | None = None
    resource_profile: SlotSharingGroup | None = None
    min_resources: ResourceSpec | None = None
    preferred_resources: ResourceSpec | None = None
    co_location_group: str | None = None
    buffer_timeout: int | None = None
    task_id: str | None = None
    expensive: bool = False

    @property
    def runtime(self) -> RuntimeSettings:
        """The settings that Spark needs."""
        return RuntimeSettings(**{f.name: getattr(self, f.name) for f in fields(RuntimeSettings)})
