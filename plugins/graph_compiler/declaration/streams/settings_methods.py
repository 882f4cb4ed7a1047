"""The base class of streams and sinks: a place in the environment, and the settings of the operator there."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self

from graph_compiler.declaration.call_checks import held_to_signatures
from graph_compiler.declaration.locations import caller_location
from graph_compiler.declaration.operators import ChainingStrategy
from graph_compiler.declaration.partitioners import Partitioner
from graph_compiler.declaration.refusals.guided import Guided
from graph_compiler.declaration.resources.resource_spec import ResourceSpec
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.declaration.transformations import (
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
    label,
)
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.identifiers import listing, shown

if TYPE_CHECKING:
    from graph_compiler.declaration.environment import StreamExecutionEnvironment


@held_to_signatures
class HasSettings(Guided):
    """The operator of a stream, or the sink at its end, and its settings."""

    _noun: ClassVar[str] = "a stream"
    _for_streams: ClassVar[str] = 'call it after `key_by("country")`'

    def __init__(self, environment: StreamExecutionEnvironment, id: int) -> None:
        self.environment = environment
        self.id = id

    def name(self, name: str) -> Self:
        """Name the operator, and the Airflow task that ends with it."""
        return self._replace(name=name)

    def set_description(self, description: str) -> Self:
        """Describe the operator in Flink's plan documents, in place of its name."""
        return self._set(description=description)

    def uid(self, uid: str) -> Self:
        """Set the operator's id: staged results and task ids then survive changes around it."""
        return self._set(uid=uid)

    def uid_hash(self, uid_hash: str) -> Self:
        """Keep the id that the operator had in an older version: 32 hexadecimal digits, as in `explain --graph job`.

        Set on the first operator of a job vertex, it names the vertex's staged results, which then stay reusable. As in
        Flink, the operator's own id is still derived from its uid or its place.
        """
        if re.fullmatch("[0-9A-Fa-f]{32}", uid_hash) is None:
            self.refuse(f"uid_hash was given {shown(uid_hash)}", allowed="32 hexadecimal digits")
        return self._set(uid_hash=uid_hash.lower())

    def task_id(self, task_id: str) -> Self:
        """Set the id of the Airflow task that runs this operator, and of its region."""
        return self._set(task_id=task_id)

    def set_parallelism(self, parallelism: int) -> Self:
        """Run the operator in exactly this many partitions; unset, Spark's adaptive execution decides."""
        return self._set(parallelism=parallelism)

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Refuse a parallelism of the operator above this number; what Spark decides is not bounded."""
        return self._set(max_parallelism=max_parallelism)

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Run the operator, and those after it without another group, in this Spark resource profile.

        A SlotSharingGroup has the resources of its applications; after one declaration, its name is enough.
        """
        if not isinstance(slot_sharing_group, str | SlotSharingGroup):
            self.refuse(
                f"slot_sharing_group was given {shown(slot_sharing_group)}", allowed="a name, or a SlotSharingGroup"
            )
        if isinstance(slot_sharing_group, str):
            slot_sharing_group = SlotSharingGroup(slot_sharing_group)
        return self._set(slot_sharing_group=slot_sharing_group)

    def set_resources(self, min_resources: ResourceSpec, preferred_resources: ResourceSpec | None = None) -> Self:
        """Set the minimum resources of the operator on an executor, and the preferred ones (by default the same).

        A chain needs the sum of its operators' resources, if all are set; a chain that needs more than an executor of
        its slot sharing group has is refused. Preferred resources are only shown and, as in Flink, not used.
        """
        wrong = [spec for spec in (min_resources, preferred_resources) if not _is_spec(spec)]
        if wrong:
            self.refuse(
                f"set_resources was given {listing(map(shown, wrong))}",
                allowed='ResourceSpec(cpu_cores=1, memory="2g") and the like',
            )
        return self._set(min_resources=min_resources, preferred_resources=preferred_resources or min_resources)

    def disable_chaining(self) -> Self:
        """Run the operator in a separate job vertex."""
        return self._replace(chaining_strategy=ChainingStrategy.NEVER)

    def start_new_chain(self) -> Self:
        """Start a job vertex with the operator; those after it may join."""
        return self._replace(chaining_strategy=ChainingStrategy.HEAD)

    def _set(self, **settings: object) -> Self:
        """Change settings of the operator, by the names of `OperatorSettings`."""
        changed = replace(self._operator(*settings).settings, **settings)  # type: ignore[arg-type]  # fields
        return self._replace(settings=changed)

    def _replace(self, **changes: object) -> Self:
        """Change fields of the operator's transformation."""
        self.environment.add(replace(self._operator(*changes), **changes))  # type: ignore[arg-type]  # fields
        return self

    def _operator(self, setting: str, *_: str) -> PhysicalTransformation:
        transformation = self.environment.transformation(self.id)
        if not isinstance(transformation, PhysicalTransformation):
            others = "" if isinstance(transformation, UnionTransformation) else "before or "
            self.refuse(
                f"{setting} can be set on an operator only; {_call(transformation)} adds none",
                hint=f"set it on the operator {others}after it",
            )
        return transformation

    @property
    def place(self) -> str:
        """Return where in the pipeline this is, by the nearest operator, for messages."""
        transformation = self.environment.transformation(self.id)
        while not isinstance(transformation, PhysicalTransformation) and transformation.inputs:
            transformation = self.environment.transformation(transformation.inputs[0])
        return f"after '{label(transformation)}'"

    def refuse(self, message: str, *, allowed: str | None = None, hint: str | None = None) -> NoReturn:
        """Refuse a call on this stream."""
        problem = Problem(
            operator=self.place, message=message, allowed=allowed, hint=hint, declared_at=caller_location()
        )
        raise InvalidPipelineError(self.environment.name, [problem]) from None


def _call(transformation: Transformation) -> str:
    """Return the call that added a transformation which is not an operator."""
    match transformation:
        case PartitionTransformation(staging_text=str()):
            return "stage"
        case PartitionTransformation(pipelining_text=str()):
            return "pipelined"
        case PartitionTransformation(partitioner=Partitioner() as by):
            return _CALLS.get(by.name, by.name.lower())
        case SideOutputTransformation():
            return "get_side_output"
        case _:
            return label(transformation)


_CALLS = {"HASH": "key_by", "GLOBAL": "global_", "CUSTOM": "partition_custom"}
"""The calls that are not named after their partitioner."""


def _is_spec(value: object) -> bool:
    return value is None or isinstance(value, ResourceSpec)
