"""Functions that YAML refers to, none of which is called, and a model."""

from pydantic import BaseModel, Field

from graph_compiler import KeyedProcessFunction, StateTtlConfig, ValueStateDescriptor
from graph_compiler.declaration.operators.process_functions import ProcessContext, Row


def one(data: object) -> object:
    return data


def two(data: object, other: object) -> object:
    return (data, other)


def three(data: object, other: object, third: object) -> object:
    return (data, other, third)


class LateParams(BaseModel):
    """The model that a YAML file refers to."""

    late_after: int = Field(15, ge=0)


def priced(data: object, least: float, *, strict: bool = False) -> object:
    return (data, least, strict)


class Notifier:
    """An object of a module that is called, as Airflow's notifiers are."""

    def __call__(self, context: object) -> None:
        """Do nothing."""


alert = Notifier()


class Visits(KeyedProcessFunction):
    """A function with state by key."""

    last = ValueStateDescriptor("BIGINT", ttl=StateTtlConfig("1 day"))

    def __init__(self, minutes: int = 10) -> None:
        self.minutes = minutes

    def process_element(self, value: Row, ctx: ProcessContext) -> None:
        """Do nothing."""
