"""Methods that declare data contracts, on each row and on all rows together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from graph_compiler.declaration.call_checks import held_to_signatures
from graph_compiler.declaration.operators import (
    Expect,
    ExpectFresh,
    ExpectIn,
    ExpectRows,
    ExpectSame,
    ExpectUnique,
    OnViolation,
)
from graph_compiler.declaration.operators.contracts import wrong_age
from graph_compiler.declaration.parameters.parameter import RUN_DATE, ParameterReference, ParameterValue
from graph_compiler.declaration.streams.combining_methods import CombiningMethods, Keys, pairs_of
from graph_compiler.declaration.value_types import fits, value_words
from graph_compiler.identifiers import did_you_mean, listing, shown

if TYPE_CHECKING:
    from graph_compiler.declaration.streams.data_stream import DataStream

_ROWS = (OnViolation.WARN, OnViolation.DROP, OnViolation.FAIL)
_TOTALS = (OnViolation.WARN, OnViolation.FAIL)


@held_to_signatures
class ContractMethods(CombiningMethods):
    """Data contracts. Each returns the stream; a contract is checked even if nothing reads what it returns."""

    def expect(
        self,
        contract: str,
        condition: str,
        *,
        on_violation: Literal["warn", "drop", "fail"] | None = None,
        to: str | None = None,
        max_share: float | ParameterReference | None = None,
    ) -> DataStream:
        """Count the rows for which `condition` is not true, under the contract's name, and handle them.

        "warn" (the default) keeps them; "drop" removes them; "fail" fails the task before any of its results is
        visible; `to="tag"` sends them to a side output. `max_share=0.05` allows 5 % of the rows to violate a contract
        that warns or fails. Counts are in the report and in the manifest of staged results.
        """
        kind = self._row_outcome(contract, on_violation, to, max_share)
        return self._one_input(Expect(contract, condition, kind, to, max_share=_as_share(max_share)), name=contract)

    def expect_unique(
        self,
        contract: str,
        *columns: str,
        on_violation: Literal["warn", "drop", "fail"] | None = None,
        to: str | None = None,
        max_share: float | ParameterReference | None = None,
    ) -> DataStream:
        """Count the rows whose values in `columns` other rows have, too: `expect_unique("one a day", "id", "day")`.

        All rows of such a key violate it, since none of them is the right one. NULLs equal nothing, as in SQL. What
        happens to the rows is as in `expect`.
        """
        kind = self._row_outcome(contract, on_violation, to, max_share)
        operator = ExpectUnique(contract, columns, kind, to, max_share=_as_share(max_share))
        return self._hashed(columns)._one_input(operator, state_keys=columns, name=contract)

    def expect_in(
        self,
        contract: str,
        other: DataStream,
        on: Keys,
        *,
        on_violation: Literal["warn", "drop", "fail"] | None = None,
        to: str | None = None,
        max_share: float | ParameterReference | None = None,
    ) -> DataStream:
        """Count the rows whose values another stream does not have: a foreign key, `on="customer_id"` as in `join`.

        Rows with a NULL among these columns are not looked for, as in SQL. What happens to the rows is as in `expect`.
        """
        kind = self._row_outcome(contract, on_violation, to, max_share)
        pairs = pairs_of(on)
        return self._join(
            other, ExpectIn(contract, pairs, kind, to, max_share=_as_share(max_share)), pairs, name=contract
        )

    def expect_rows(
        self,
        contract: str,
        *,
        at_least: int | ParameterReference | None = None,
        at_most: int | ParameterReference | None = None,
        on_violation: Literal["warn", "fail"] = "warn",
    ) -> DataStream:
        """Count all rows: `expect_rows("enough", at_least=1000, on_violation="fail")`; limits may be `param("least")`.

        "warn" reports a violation, "fail" fails the task before any of its results is visible.
        """
        kind = self._total_outcome(contract, on_violation)
        self._check_limit(contract, "at_least", at_least, int)
        self._check_limit(contract, "at_most", at_most, int)
        return self._one_input(ExpectRows(contract, at_least, at_most, on_violation=kind), name=contract)

    def expect_same(
        self,
        contract: str,
        other: DataStream,
        total: str = "count(*)",
        *,
        other_total: str | None = None,
        on_violation: Literal["warn", "fail"] = "warn",
    ) -> DataStream:
        """Compare an aggregate of all rows with that of another stream: `expect_same("balanced", lines, "sum(v)")`.

        `other_total` is the other's expression, if it differs. The rows are those of this stream. A violation is
        handled as in `expect_rows`.
        """
        kind = self._total_outcome(contract, on_violation)
        return self._several_inputs(ExpectSame(contract, total, other_total, on_violation=kind), other, name=contract)

    def expect_fresh(
        self,
        contract: str,
        column: str,
        within: str | ParameterReference,
        *,
        on_violation: Literal["warn", "fail"] = "warn",
    ) -> DataStream:
        """Compare a column's newest value with the run's date: `expect_fresh("new", "day", "2 days")`.

        The date or time must not be before the start of the run's date minus `within`. A stream without values
        violates it. A violation is handled as in `expect_rows`.
        """
        kind = self._total_outcome(contract, on_violation)
        default = self._check_limit(contract, "within", within, str)
        if isinstance(within, ParameterReference) and default and (allowed := wrong_age(default)):
            self.refuse(
                f"contract '{contract}' has within=param('{within.name}'), which is {shown(default)} by default",
                allowed=allowed,
            )
        return self._one_input(ExpectFresh(contract, column, within, on_violation=kind), name=contract)

    def _row_outcome(
        self, contract: str, on_violation: str | None, to: str | None, max_share: float | ParameterReference | None
    ) -> OnViolation:
        if to is not None and on_violation is not None:
            self.refuse(f"contract '{contract}' has both on_violation= and to=", allowed="one of the two")
        kind = (
            OnViolation.TO
            if to is not None
            else self._outcome(contract, on_violation or "warn", _ROWS, '; or to="tag"')
        )
        if max_share is not None and kind not in _TOTALS:
            given = f"to='{to}'" if to is not None else f"on_violation='{kind}'"
            self.refuse(
                f"contract '{contract}' has both max_share= and {given}",
                allowed=f"max_share with {listing(_TOTALS)}",
                hint='to limit the rows that leave the stream, put a contract with on_violation="fail" and max_share '
                "before this one",
            )
        default = self._check_limit(contract, "max_share", max_share, float)
        if isinstance(max_share, ParameterReference) and isinstance(default, int | float) and not 0 <= default < 1:
            self.refuse(
                f"contract '{contract}' has max_share=param('{max_share.name}'), which is {default} by default",
                allowed="0 or more, less than 1: 0.05 is 5 %",
            )
        return kind

    def _total_outcome(self, contract: str, on_violation: str) -> OnViolation:
        if on_violation in ("drop", "to"):
            self.refuse(
                f"contract '{contract}' has on_violation='{on_violation}', but no single row violates it",
                allowed=listing(_TOTALS),
            )
        return self._outcome(contract, on_violation, _TOTALS)

    def _outcome(self, contract: str, given: str, kinds: tuple[OnViolation, ...], more: str = "") -> OnViolation:
        allowed = [kind.value for kind in kinds]
        if given not in allowed:
            self.refuse(
                f"contract '{contract}' has on_violation={given!r}",
                allowed=f"{listing(allowed)}{more}",
                hint=did_you_mean(given, allowed),
            )
        return OnViolation(given)

    def _check_limit(
        self, contract: str, word: str, limit: object, kind: type[int] | type[float] | type[str]
    ) -> ParameterValue | None:
        """Return a parameter's default; refuse a parameter of another type. Another check finds undeclared ones."""
        if not isinstance(limit, ParameterReference):
            return None
        defaults: Mapping[object, ParameterValue] = {each.name: each.default for each in self.environment.parameters}
        default = "" if limit.name == RUN_DATE else defaults.get(limit.name)
        if default is not None and (limit.name == RUN_DATE or not fits(default, kind)):
            is_default = "the date of the run" if limit.name == RUN_DATE else f"{shown(default)} by default"
            self.refuse(
                f"contract '{contract}' has {word}=param('{limit.name}'), which is {is_default}",
                allowed=value_words(kind),
            )
        return default


def _as_share(share: float | ParameterReference | None) -> float | ParameterReference | None:
    """Return a whole number as a fraction, which documents tell apart."""
    return float(share) if isinstance(share, int) else share
