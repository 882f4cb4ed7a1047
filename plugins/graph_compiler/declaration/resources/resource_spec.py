"""The resources that one operator needs on an executor (Flink's ResourceSpec).

    ResourceSpec(cpu_cores=1, memory="2g").merge(ResourceSpec(cpu_cores=0.5, memory="512m"))   →   1.5 cores and 2560m

None is Flink's UNKNOWN: not declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce

from graph_compiler.declaration.refusals.constructors import HeldToForm
from graph_compiler.errors import Problem
from graph_compiler.identifiers import listing

_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
# Spark alone also accepts `2gb` and a number without a unit. A JVM does not start with the first as its -Xmx, and takes
# the second as bytes, Spark as mebibytes.
_SIZE = re.compile(r"([0-9]+)([kmgt])", re.IGNORECASE)

MEMORY_FORM = "a whole number and k, m, g or t, such as '2g' or '1536m'"
SMALLEST_HEAP = "450m"
"""The minimum that Spark requires of any JVM: one and a half times the 300m that it reserves for itself."""


def parse_memory(text: object) -> int | None:
    """Return a size in bytes, None if the text is no size."""
    found = _SIZE.fullmatch(text) if isinstance(text, str) else None
    return None if found is None else int(found[1]) * _UNITS[found[2].lower()]


def memory_text(size: int) -> str:
    """Return bytes as text in the largest unit without a remainder; sizes here are whole kibibytes."""
    unit = max((unit for unit in _UNITS if size % _UNITS[unit] == 0), key=_UNITS.__getitem__)
    return f"{size // _UNITS[unit]}{unit}" if size else "0m"


CORES, MEMORY, OFF_HEAP = "cores", "memory", "off-heap memory"
Amounts = Mapping[str, Decimal | None]
"""Amounts of resources, with memory in bytes. None: unknown. A resource that is not named: none of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec(metaclass=HeldToForm):
    """The resources that an operator needs on the executor that runs one of its subtasks; cores may be a fraction.

    These fields of Flink's class have a meaning on Spark: CPU cores are an executor's cores, task heap memory its heap
    (`spark.executor.memory`), task off-heap memory its off-heap memory (`spark.memory.offHeap.size`), extended
    resources those of `spark.executor.resource.<name>.amount`, such as `gpu`. Managed memory is left out: Spark
    divides an executor's heap between execution and storage itself, and no operator can reserve a part of it.
    """

    cpu_cores: float
    memory: str
    off_heap_memory: str = "0m"
    extended_resources: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Keep a sorted copy of the mapping, so that equal needs are equal values, and later changes have no effect."""
        extended = self.extended_resources
        # A value that is not a mapping is refused as a count, with its operator.
        given = extended if isinstance(extended, Mapping) else {"extended_resources": extended}
        object.__setattr__(self, "extended_resources", dict(sorted(given.items())))

    def problems(self) -> Iterator[Problem]:
        """Yield every invalid amount."""
        counts = {"cpu_cores": self.cpu_cores, **self.extended_resources}
        sizes = {"memory": self.memory, "off_heap_memory": self.off_heap_memory}
        odd: dict[str, object] = {name: value for name, value in counts.items() if not _is_count(value)}
        odd |= {name: text for name, text in sizes.items() if parse_memory(text) is None}
        for name, value in odd.items():
            yield Problem(message=f"{name} is {value!r}", allowed=SPEC_FORM)

    def amounts(self) -> dict[str, Decimal]:
        """Return the needed amount of each resource."""
        return {
            CORES: _exact(self.cpu_cores),
            MEMORY: Decimal(parse_memory(self.memory) or 0),
            OFF_HEAP: Decimal(parse_memory(self.off_heap_memory) or 0),
            **{name: _exact(amount) for name, amount in self.extended_resources.items()},
        }

    def merge(self, other: ResourceSpec) -> ResourceSpec:
        """Add up the needs of two operators of one chain (Flink's `ResourceSpec.merge`)."""
        mine, theirs = self.amounts(), other.amounts()
        total = {name: mine.get(name, Decimal(0)) + theirs.get(name, Decimal(0)) for name in mine | theirs}
        return ResourceSpec(
            cpu_cores=float(total.pop(CORES)),
            memory=memory_text(int(total.pop(MEMORY))),
            off_heap_memory=memory_text(int(total.pop(OFF_HEAP))),
            extended_resources={name: float(amount) for name, amount in total.items()},
        )

    def __str__(self) -> str:
        """Return the amounts as text: `1 core, 2g and 1 gpu`."""
        return amount_words(self.amounts())


SPEC_FORM = f"counts from 0, and memory as {MEMORY_FORM}"


def merge_resources(specs: Iterable[ResourceSpec | None]) -> ResourceSpec | None:
    """Add up the needs of a chain's operators; if one is unknown, so is the sum (Flink's rule)."""
    found = tuple(specs)
    known = [spec for spec in found if spec is not None]
    return reduce(ResourceSpec.merge, known) if len(known) == len(found) else None


def exceeding(need: ResourceSpec, limit: Amounts) -> dict[str, Decimal]:
    """Return the amounts over the limit; an unknown limit allows any amount."""
    found = {}
    for name, amount in need.amounts().items():
        most = limit.get(name, Decimal(0))
        if most is not None and amount > most:
            found[name] = amount
    return found


def amount_words(amounts: Mapping[str, Decimal]) -> str:
    """Return amounts as text, without those of zero: `1 core, 2g and 1 gpu`."""
    return listing(_words(name, amount) for name, amount in amounts.items() if amount)


def _words(name: str, amount: Decimal) -> str:
    if name == MEMORY:
        return memory_text(int(amount))
    if name == OFF_HEAP:
        return f"{memory_text(int(amount))} off-heap"
    return f"{amount.normalize():f} {'core' if name == CORES and amount == 1 else name}"


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _exact(value: float) -> Decimal:
    # By its shortest text: twice a tenth of a core is then 0.2, as with Flink's decimals.
    return Decimal(str(value))
