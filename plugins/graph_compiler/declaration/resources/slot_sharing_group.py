"""The resources of a slot sharing group's Spark application (Flink's SlotSharingGroup, in Spark's terms).

    SlotSharingGroup("big", driver_memory="4g", executor_memory="8g", executor_cores=4, executor_instances=3)

becomes the options of spark-submit for every task with operators in the group:

| setting            | local[…]          | spark://                            | yarn, k8s           |
| ------------------ | ----------------- | ----------------------------------- | ------------------- |
| driver_memory      | all there is      | yes                                 | yes                 |
| driver_cores       | no: the master's  | if the driver runs in the cluster   | the same            |
| executor_memory    | no                | yes                                 | yes                 |
| executor_cores     | no: the master's  | yes                                 | yes                 |
| executor_instances | no                | with executor_cores, as their total | yes                 |
| conf               | as Spark reads it | as Spark reads it                   | as Spark reads it   |
| target             | local             | standalone                          | yarn, kubernetes    |
| deploy_mode        | client            | client                              | client, cluster     |
| conn_id            | the Airflow connection of such a master, the same for all targets             |

In `local[4]`, driver and executor are one JVM: `driver_memory` is its heap, and the connection's master names its
cores. The application logs which settings its master ignored; a pipeline that declares its target and settings that
this target ignores is refused. What each target can do is a value: `deployment/targets/known_targets.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from graph_compiler.declaration.refusals.constructors import HeldToForm
from graph_compiler.declaration.resources.application import INSTEAD, DeployMode, secret_in_plain_text
from graph_compiler.declaration.resources.resource_spec import (
    CORES,
    MEMORY,
    MEMORY_FORM,
    OFF_HEAP,
    SMALLEST_HEAP,
    Amounts,
    parse_memory,
)
from graph_compiler.errors import Problem
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import counted

SPARK_SETTINGS: Mapping[str, str] = {
    "driver_memory": "spark.driver.memory",
    "driver_cores": "spark.driver.cores",
    "executor_memory": "spark.executor.memory",
    "executor_cores": "spark.executor.cores",
    "executor_instances": "spark.executor.instances",
}
"""The settings of a group, with Spark's names for them."""

PLACES: Mapping[str, str] = {
    "target": "execution.target",
    "deploy_mode": "execution.deploy-mode",
    "conn_id": "airflow.conn-id",
}
"""The settings of a group that say where its applications run, with the options that they override."""

DEFAULT = "default"
"""The group of operators whose inputs share no other."""

_EXTENDED = "spark.executor.resource."
_AMOUNT = ".amount"
ConfValue = str | int | float | bool


@dataclass(frozen=True, slots=True)
class SlotSharingGroup(metaclass=HeldToForm):
    """A named Spark resource profile; settings that are None are left to the pipeline, the installation and Spark.

    `conf` holds further settings by Spark's names (`spark.…`). `conn_id` is an Airflow connection, `target` an
    execution target, `deploy_mode` client or cluster. A group without settings is only a name.
    """

    name: str
    driver_memory: str | None = field(default=None, kw_only=True)
    driver_cores: int | None = field(default=None, kw_only=True)
    executor_memory: str | None = field(default=None, kw_only=True)
    executor_cores: int | None = field(default=None, kw_only=True)
    executor_instances: int | None = field(default=None, kw_only=True)
    conf: Mapping[str, ConfValue] = field(default_factory=dict, kw_only=True, hash=False)
    conn_id: str | None = field(default=None, kw_only=True, metadata={UNSAID: True})
    target: str | None = field(default=None, kw_only=True, metadata={UNSAID: True})
    deploy_mode: str | None = field(default=None, kw_only=True, metadata={UNSAID: True})

    def __post_init__(self) -> None:
        """Keep a sorted copy of `conf`, as text: `True` and `"true"` are the same setting."""
        # A value that is not a mapping is refused among its keys, with its operator.
        given = self.conf if isinstance(self.conf, Mapping) else {repr(self.conf): ""}
        conf = {key: _as_text(value) for key, value in sorted(given.items())}
        object.__setattr__(self, "conf", conf)

    @property
    def is_only_a_name(self) -> bool:
        """Whether it sets nothing: operators may name a group that another operator declares."""
        return not self.settings() and not self.places()

    @property
    def is_default(self) -> bool:
        """Whether it is the group of operators that name none, with settings or without."""
        return self.name == DEFAULT

    def places(self) -> dict[str, str]:
        """Return where its applications run, as far as it says so, by the names of the options."""
        named = {key: getattr(self, name) for name, key in PLACES.items()}
        return {key: str(value) for key, value in named.items() if value is not None}

    def resources(self) -> dict[str, str | int]:
        """Return the resources that it sets, by their names here."""
        return {name: value for name in SPARK_SETTINGS if (value := getattr(self, name)) is not None}

    def settings(self) -> dict[str, str]:
        """Return everything it sets, by Spark's names."""
        own = {SPARK_SETTINGS[name]: str(value) for name, value in self.resources().items()}
        return own | {key: str(value) for key, value in self.conf.items()}

    def executor(self) -> Amounts:
        """Return the resources of one executor; cores and memory that the group does not set are unknown.

        Spark has neither off-heap memory nor extended resources unless a setting requests them.
        """
        memory = None if self.executor_memory is None else parse_memory(self.executor_memory)
        has_off_heap = str(self.conf.get("spark.memory.offHeap.enabled")).lower() == "true"
        off_heap = _size(str(self.conf.get("spark.memory.offHeap.size", 0))) if has_off_heap else 0
        extended = {
            key.removeprefix(_EXTENDED).removesuffix(_AMOUNT): _number(str(value))
            for key, value in self.conf.items()
            if key.startswith(_EXTENDED) and key.endswith(_AMOUNT)
        }
        return {
            CORES: None if self.executor_cores is None else Decimal(self.executor_cores),
            MEMORY: None if memory is None else Decimal(memory),
            OFF_HEAP: None if off_heap is None else Decimal(off_heap),
            **extended,
        }

    def problems(self) -> Iterator[Problem]:
        """Yield every setting that would prevent Spark from starting."""
        yield from self._memory_problems()
        yield from self._count_problems()
        yield from self._conf_problems()
        yield from self._place_problems()

    def _memory_problems(self) -> Iterator[Problem]:
        for name in ("driver_memory", "executor_memory"):
            text = getattr(self, name)
            size = None if text is None else parse_memory(text)
            if text is not None and size is None:
                yield Problem(message=f"{name} is {text!r}", allowed=MEMORY_FORM)
            elif size is not None and size < (parse_memory(SMALLEST_HEAP) or 0):
                allowed = f"at least {SMALLEST_HEAP}: Spark itself needs 300m"
                yield Problem(message=f"{name} is {text!r}", allowed=allowed)

    def _count_problems(self) -> Iterator[Problem]:
        for name in ("driver_cores", "executor_cores", "executor_instances"):
            value = getattr(self, name)
            if value is not None and not (type(value) is int and value >= 1):
                allowed = "a whole number from 1, or unset"
                yield Problem(message=f"{name} is {value!r}", allowed=allowed)

    def _conf_problems(self) -> Iterator[Problem]:
        said_by = {key: f"{name}=…, a setting of the group" for name, key in SPARK_SETTINGS.items()}
        said_by |= INSTEAD
        prefix = "names that begin with 'spark.': spark-submit drops others"
        for key, value in self.conf.items():
            allowed = said_by.get(key) if key.startswith("spark.") else prefix
            if allowed is not None:
                yield Problem(message=f"conf has {key!r}", allowed=allowed)
            if secret := secret_in_plain_text(key, f"conf[{key!r}]", value):
                yield secret

    def _place_problems(self) -> Iterator[Problem]:
        modes = tuple(DeployMode)
        if self.deploy_mode is not None and self.deploy_mode not in modes:
            yield Problem(message=f"deploy_mode is {self.deploy_mode!r}", allowed=", ".join(modes))
        for name in ("conn_id", "target"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value.strip()):
                yield Problem(message=f"{name} is {value!r}", allowed="a name, or unset")

    def __str__(self) -> str:
        """Return it as text: `big: driver 4g, 3 executors with 4 cores and 8g`."""
        driver = _joined(self.driver_memory, _counted(self.driver_cores, "core"))
        executor = _joined(_counted(self.executor_cores, "core"), self.executor_memory)
        executors = _counted(self.executor_instances, "executor") or (executor and "executors")
        parts = [
            f"driver {driver}" if driver else "",
            f"{executors} with {executor}" if executor else executors,
            *(f"{key}={value}" for key, value in self.conf.items()),
            *(f"{key}={value}" for key, value in self.places().items()),
        ]
        return f"{self.name}: {', '.join(part for part in parts if part)}"


def _joined(*parts: str | None) -> str:
    return " and ".join(part for part in parts if part)


def _counted(number: int | None, noun: str) -> str:
    return "" if number is None else counted(number, noun)


def _size(text: str) -> int | None:
    """Return a size in `conf`, which may be a plain number, in bytes; None if only Spark can parse it."""
    return int(text) if text.isdecimal() else parse_memory(text)


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _as_text(value: ConfValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
