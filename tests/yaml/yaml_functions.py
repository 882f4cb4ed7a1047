"""Functions that YAML refers to, none of which is called, and a model."""

from pydantic import BaseModel, Field


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
