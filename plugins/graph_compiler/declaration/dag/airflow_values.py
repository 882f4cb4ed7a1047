"""Values of Airflow's arguments that Airflow would refuse when it parses the Dag; Airflow is not imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, listing, shown

ONE_OF: Mapping[str, tuple[str, ...]] = {
    "trigger_rule": (
        "all_done",
        "all_done_min_one_success",
        "all_done_setup_success",
        "all_failed",
        "all_skipped",
        "all_success",
        "always",
        "none_failed",
        "none_failed_min_one_success",
        "none_skipped",
        "one_done",
        "one_failed",
        "one_success",
    ),
    "weight_rule": ("absolute", "downstream", "upstream"),
}
"""The words of an argument, if it is text; a weight rule may also be a class of yours."""
_AT_LEAST_ONE = "pool_slots"


def find_wrong_values(arguments: Mapping[str, Any], where: str) -> Iterator[Problem]:
    """Find values of tasks that Airflow does not take; `where` names the mapping they are in."""
    for name, allowed in ONE_OF.items():
        value = arguments.get(name)
        if isinstance(value, str) and value not in allowed:
            yield Problem(
                message=f"{where} has {name} {shown(value)}",
                allowed=listing(allowed),
                hint=did_you_mean(value, allowed),
            )
    slots = arguments.get(_AT_LEAST_ONE)
    if isinstance(slots, int) and slots < 1:
        yield Problem(message=f"{where} has {_AT_LEAST_ONE} {slots}", allowed="at least 1")
