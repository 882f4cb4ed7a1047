"""The settings of operators of any kind: one value, from the declaration to Spark.

    orders.filter("paid").uid("paid").set_parallelism(4)   →   OperatorSettings(uid="paid", parallelism=4)

To add one: a field here (in `RuntimeSettings` if Spark needs it), and a method that sets it in `declaration/streams/`.
The method's name is its key in YAML.
"""

from __future__ import annotations

from collections.abc import Iterator
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

    Resources None are unknown. A slot sharing group may be only a name, with settings that another operator declares.
    `expensive`: recomputing it should be avoided, so AUTO stages its result.
    """

    description: str | None = None
    uid: str | None = None
    uid_hash: str | None = None
    max_parallelism: int | None = None
    slot_sharing_group: SlotSharingGroup | None = None
    min_resources: ResourceSpec | None = None
    preferred_resources: ResourceSpec | None = None
    co_location_group: str | None = None
    task_id: str | None = None
    expensive: bool = False

    def names(self) -> Iterator[tuple[str, object]]:
        """Yield what each name among them is called, and the name: pages and logs show it as it is."""
        yield "uid", self.uid
        yield "slot sharing group", self.slot_sharing_group and self.slot_sharing_group.name
        yield "co-location group", self.co_location_group

    @property
    def runtime(self) -> RuntimeSettings:
        """The settings that Spark needs."""
        return RuntimeSettings(**{f.name: getattr(self, f.name) for f in fields(RuntimeSettings)})
