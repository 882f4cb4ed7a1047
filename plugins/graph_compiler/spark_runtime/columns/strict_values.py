"""SQL that makes a value from the text of a field, and finds text that does not fit its type.

    x '3.50' as DECIMAL(9, 2)   →   value: try_cast(x AS DECIMAL(9, 2))     misfit: false
    x '3,50' as DECIMAL(9, 2)   →   value: NULL                             misfit: true

Spark's own readers are lenient: they delete commas from decimals, round them, and cut what follows a date. A value here
is the same as theirs if nothing of the text is lost; otherwise the text is a misfit. Names of columns are not used, so
that no text of a user is inserted into SQL, except formats, which are quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import singledispatchmethod

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
    VariantType,
)

from graph_compiler.identifiers import quoted

NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_CODE = r"\+.*|-?0\d.*"
"""What is rather a code than a number: +49, 007.5. Not 12E4: R writes 1000 as 1e3."""
DAY = r"[+-]?\d{4,7}-\d{1,2}-\d{1,2}"
TIME = r"[\d:.]*\d"
"""Without a time zone."""
TIME_OR_ZONE = ".*[!-~]"
_BYTES = r"\[?([0-9A-Fa-f]{2}( [0-9A-Fa-f]{2})*)?\]?"
"""As Spark writes them in XML."""
_DIGITS = ", ".join(f"'{digit}'" for digit in range(10))
_LARGEST: dict[type[DataType], str] = {DoubleType: "1.7976931348623157E308D", FloatType: "3.4028235E38D"}
MOST_DIGITS = 38
"""Of Spark's DECIMAL."""
_LENIENT_IN_LISTS = (DecimalType, DateType, TimestampType, TimestampNTZType)
"""Types for which Spark's own JSON reader accepts text that does not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """How values are written. `decimal` and `grouping` are the separators of a locale; None where it is not declared.

    `keeps_digits`: types were inferred, so text of which a number would lose a part (0123, +49) does not fit.
    `is_json`: bytes are written in base64, and infinity also as Spark's reader of JSON reads it.
    `is_xml`: bytes are written as [00 FF], a BOOLEAN also as 1 or 0, and infinity also as INF.
    """

    date: str | None = None
    timestamp: str | None = None
    timestamp_ntz: str | None = None
    time_zone: str | None = None
    locale: str | None = None
    decimal: str | None = None
    grouping: str | None = None
    nan: str = "NaN"
    positive_infinity: str = "Inf"
    negative_infinity: str = "-Inf"
    keeps_digits: bool = False
    is_json: bool = False
    is_xml: bool = False

    def text_type(self, kind: DataType) -> DataType:
        """Return the type to parse a JSON field with: STRING wherever the text of a value must be checked."""
        if isinstance(kind, StructType):
            fields = [StructField(f.name, self.text_type(f.dataType)) for f in kind]
            return StructType(fields)
        if isinstance(kind, ArrayType) and self._is_checked(kind):
            return ArrayType(self.text_type(kind.elementType))
        if isinstance(kind, MapType) and self._is_checked(kind):
            return MapType(kind.keyType, self.text_type(kind.valueType))
        return kind if isinstance(kind, ArrayType | MapType | VariantType) else StringType()

    def value(self, text: str, kind: DataType) -> str:
        """Return an expression for the value of `text`; NULL if it is NULL or does not fit."""
        return self._value(kind, text, 0)

    def misfit(self, text: str, value: str, kind: DataType) -> str | None:
        """Return a condition: whether `text` does not fit, given its `value`; None if it always fits."""
        return self._misfit(kind, text, value, 0)

    @singledispatchmethod
    def _value(self, kind: DataType, text: str, depth: int) -> str:
        return f"try_cast({text} AS {kind.simpleString()})"

    @_value.register
    def _(self, kind: StringType, text: str, depth: int) -> str:
        return text if kind == StringType() else f"CAST({text} AS {kind.simpleString()})"

    @_value.register
    def _(self, kind: VariantType, text: str, depth: int) -> str:
        return text

    @_value.register
    def _(self, kind: BinaryType, text: str, depth: int) -> str:
        if self.is_xml:
            digits = f"unhex(regexp_replace({text}, {sql_literal(r'[^0-9A-Fa-f]')}, ''))"
            return f"CASE WHEN {_matches(text, _BYTES)} THEN {digits} END"
        return f"try_to_binary({text}, '{'base64' if self.is_json else 'utf-8'}')"

    @_value.register
    def _(self, kind: NullType, text: str, depth: int) -> str:
        return "NULL"

    @_value.register
    def _(self, kind: BooleanType, text: str, depth: int) -> str:
        digits = "WHEN '1' THEN true WHEN '0' THEN false " if self.is_xml else ""
        return f"CASE lower({text}) WHEN 'true' THEN true WHEN 'false' THEN false {digits}END"

    @_value.register
    def _(self, kind: DecimalType, text: str, depth: int) -> str:
        return f"try_cast({self._point(text)} AS {kind.simpleString()})"

    @_value.register(DoubleType)
    @_value.register(FloatType)
    def _(self, kind: DataType, text: str, depth: int) -> str:
        value = f"try_cast({text} AS {kind.simpleString()})"
        names = [
            f"WHEN {sql_literal(name)} THEN CAST('{value}' AS {kind.simpleString()})"
            for name, usual, value in self._special_names()
            if name != usual
        ]
        return f"CASE {text} {' '.join(names)} ELSE {value} END" if names else value

    @_value.register
    def _(self, kind: DateType, text: str, depth: int) -> str:
        if self.date is not None and self.locale is None:
            return f"try_to_date({text}, {sql_literal(self.date)})"
        if self.date is not None:
            return self._by_reader(text, kind, {"dateFormat": self.date})
        return f"try_cast({text} AS DATE)"

    @_value.register
    def _(self, kind: TimestampType, text: str, depth: int) -> str:
        if self.time_zone is not None or (self.timestamp is not None and self.locale is not None):
            return self._by_reader(text, kind, {"timestampFormat": self.timestamp})
        if self.timestamp is not None:
            return f"try_to_timestamp({text}, {sql_literal(self.timestamp)})"
        return f"try_cast({text} AS TIMESTAMP)"

    @_value.register
    def _(self, kind: TimestampNTZType, text: str, depth: int) -> str:
        if self.timestamp_ntz is not None:
            return self._by_reader(text, kind, {"timestampNTZFormat": self.timestamp_ntz})
        return f"try_cast({text} AS TIMESTAMP_NTZ)"

    @_value.register
    def _(self, kind: StructType, text: str, depth: int) -> str:
        fields = [f"{sql_literal(f.name)}, {self._value(f.dataType, f'{text}.{quoted(f.name)}', depth)}" for f in kind]
        return f"CASE WHEN {text} IS NOT NULL THEN named_struct({', '.join(fields)}) END"

    @_value.register
    def _(self, kind: ArrayType, text: str, depth: int) -> str:
        if not self._is_checked(kind):
            return text
        item = f"item{depth}"
        return f"transform({text}, {item} -> {self._value(kind.elementType, item, depth + 1)})"

    @_value.register
    def _(self, kind: MapType, text: str, depth: int) -> str:
        if not self._is_checked(kind):
            return text
        item = f"item{depth}"
        value = self._value(kind.valueType, item, depth + 1)
        return f"transform_values({text}, (key{depth}, {item}) -> {value})"

    @singledispatchmethod
    def _misfit(self, kind: DataType, text: str, value: str, depth: int) -> str | None:
        return self._unless(text, value, None)

    @_misfit.register(StringType)
    @_misfit.register(VariantType)
    def _(self, kind: DataType, text: str, value: str, depth: int) -> str | None:
        return None

    @_misfit.register
    def _(self, kind: CharType | VarcharType, text: str, value: str, depth: int) -> str | None:
        return self._unless(text, value, f"char_length({text}) <= {kind.length}")

    @_misfit.register
    def _(self, kind: IntegralType, text: str, value: str, depth: int) -> str | None:
        digits = r"-?(0|[1-9]\d*)" if self.keeps_digits else r"[+-]?\d+"
        return self._unless(text, value, f"CAST({value} AS STRING) = {text} OR {_matches(text, digits)}")

    @_misfit.register
    def _(self, kind: DecimalType, text: str, value: str, depth: int) -> str | None:
        point = self._point(text)
        largest = DecimalType(MOST_DIGITS, MOST_DIGITS - kind.precision + kind.scale)
        whole = r"-?(?!0\d)\d*" if self.keeps_digits else r"[+-]?\d*"
        plain = _matches(point, rf"{whole}(\.\d{{0,{kind.scale}}}0*)?")
        # With an exponent, `largest` has all digits if it has as many behind its point.
        fraction = rf"length(regexp_extract({point}, '[.](\\d*)[eE]', 1))"
        exponent = f"try_cast(regexp_extract({point}, '[eE](.*)', 1) AS INT)"
        power = (
            f"{_matches(point, NUMBER)} AND {value} = try_cast({point} AS {largest.simpleString()}) "
            f"AND coalesce({fraction} - {exponent} <= {largest.scale}, false)"
        )
        return self._unless(text, value, f"{plain} OR ({power})")

    @_misfit.register(DoubleType)
    @_misfit.register(FloatType)
    def _(self, kind: DataType, text: str, value: str, depth: int) -> str | None:
        largest = _LARGEST[type(kind)]
        is_number = f"{_matches(text, NUMBER)} AND abs({value}) <= {largest}"
        if self.keeps_digits:  # a double has 15 to 17 digits
            exact = [f"try_cast({each} AS DECIMAL(38, 18))" for each in (text, value)]
            is_number += f" AND (length({text}) <= 15 OR {' <=> '.join(exact)})"
            if not self.is_json:  # there, it is written as a number
                is_number += f" AND NOT {_matches(text, _CODE)}"
        names = {name for each in self._special_names() for name in each}
        names |= {"INF", "+INF", "-INF", "+Infinity"} if self.is_json or self.is_xml else set()
        listed = ", ".join(sql_literal(name) for name in sorted(names))
        return self._unless(text, value, f"({is_number}) OR {text} IN ({listed})")

    @_misfit.register
    def _(self, kind: DateType, text: str, value: str, depth: int) -> str | None:
        if self.date is not None:
            return self._unless(text, value, None)
        usual = (
            f"octet_length({text}) = 10 AND {text} >= '+' AND substr({text}, 10, 1) IN ({_DIGITS}) "
            f"AND NOT contains({text}, ' ') AND NOT contains({text}, 'T')"
        )
        return self._unless(text, value, f"({usual}) OR {_matches(text, DAY)}")

    @_misfit.register
    def _(self, kind: TimestampType, text: str, value: str, depth: int) -> str | None:
        if self.timestamp is not None:
            return self._unless(text, value, _keeps_fraction(text, self.timestamp))
        # Spark keeps six digits of a second, and takes a time without a day for one of today.
        usual = (
            f"octet_length({text}) BETWEEN 16 AND 26 AND locate('-', {text}) = 5 "
            f"AND contains({text}, ':') AND locate('.', {text}) IN (0, 20) "
            f"AND right({text}, 1) IN ('Z', {_DIGITS})"
        )
        return self._unless(text, value, f"({usual}) OR {_matches(text, moment_pattern(TIME_OR_ZONE))}")

    @_misfit.register
    def _(self, kind: TimestampNTZType, text: str, value: str, depth: int) -> str | None:
        if self.timestamp_ntz is not None:
            return self._unless(text, value, _keeps_fraction(text, self.timestamp_ntz))
        return self._unless(text, value, _matches(text, moment_pattern(TIME)))

    @_misfit.register
    def _(self, kind: StructType, text: str, value: str, depth: int) -> str | None:
        return _any(self._field_misfits(kind, text, depth))

    @_misfit.register
    def _(self, kind: ArrayType, text: str, value: str, depth: int) -> str | None:
        return self._misfit_in_items(kind, kind.elementType, text, depth)

    @_misfit.register
    def _(self, kind: MapType, text: str, value: str, depth: int) -> str | None:
        return self._misfit_in_items(kind, kind.valueType, f"map_values({text})", depth)

    def _field_misfits(self, kind: StructType, text: str, depth: int) -> Iterator[str]:
        for field in kind:
            own = f"{text}.{quoted(field.name)}"
            value = self._value(field.dataType, own, depth)
            if misfit := self._misfit(field.dataType, own, value, depth):
                yield misfit

    def _misfit_in_items(self, kind: DataType, item_kind: DataType, items: str, depth: int) -> str | None:
        item = f"item{depth}"
        value = self._value(item_kind, item, depth + 1)
        misfit = self._misfit(item_kind, item, value, depth + 1) if self._is_checked(kind) else None
        return misfit and f"coalesce(exists({items}, {item} -> {misfit}), false)"

    def _is_checked(self, kind: DataType) -> bool:
        """Whether a list or map has items whose text must be checked; Spark's reader of JSON checks all others."""
        if isinstance(kind, ArrayType):
            return self._is_checked(kind.elementType)
        if isinstance(kind, MapType):
            return self._is_checked(kind.valueType)
        if isinstance(kind, StructType):
            return any(self._is_checked(field.dataType) for field in kind)
        if self.is_xml:
            return kind != StringType() and not isinstance(kind, VariantType)
        return isinstance(kind, _LENIENT_IN_LISTS)

    def _unless(self, text: str, value: str, fits: str | None) -> str:
        """Return the condition: there is text, but no value, or one that does not fit."""
        if fits is None:
            return f"({text} IS NOT NULL AND {value} IS NULL)"
        return f"CASE WHEN {text} IS NULL THEN false WHEN {value} IS NULL THEN true ELSE NOT ({fits}) END"

    def _point(self, text: str) -> str:
        """Return the text of a decimal as SQL writes it; NULL if its separators are not those of the locale."""
        if self.decimal is None or self.grouping is None:
            return text
        point, group = re.escape(self.decimal), re.escape(self.grouping)
        plain = f"replace({text}, {sql_literal(self.decimal)}, '.')"
        grouped = f"replace(replace({text}, {sql_literal(self.grouping)}, ''), {sql_literal(self.decimal)}, '.')"
        is_plain = _matches(text, rf"[+-]?\d*({point}\d*)?")
        is_grouped = _matches(text, rf"[+-]?\d{{1,3}}({group}\d{{3}})+({point}\d*)?")
        return f"CASE WHEN {is_plain} THEN {plain} WHEN {is_grouped} THEN {grouped} END"

    def _by_reader(self, text: str, kind: DataType, formats: Mapping[str, str | None]) -> str:
        """Return the value as Spark's reader of JSON strings finds it: functions know neither its locale nor zone."""
        options = {**formats, "locale": self.locale, "timeZone": self.time_zone}
        listed = ", ".join(f"'{name}', {sql_literal(value)}" for name, value in options.items() if value is not None)
        json = f"to_json(named_struct('v', {text}))"
        return f"from_json({json}, 'v {kind.simpleString()}', map({listed})).v"

    def _special_names(self) -> tuple[tuple[str, str, str], ...]:
        """Return what is no number in a column of floating point: its name, Spark's usual one, and SQL's."""
        return (
            (self.nan, "NaN", "NaN"),
            (self.positive_infinity, "Inf", "Infinity"),
            (self.negative_infinity, "-Inf", "-Infinity"),
        )


def moment_pattern(rest: str) -> str:
    """Return a pattern: a day, and a time with at most six digits of a second, or more of which the others are zeros.

    Java and Python understand it, and the other patterns here.
    """
    return rf"{DAY}([ T](?!.*\.\d{{6}}\d*[1-9]){rest})?"


def _keeps_fraction(text: str, pattern: str) -> str | None:
    """Return a condition: whether a time has at most six digits of a second; None if its pattern has no more.

    They are behind a point or a comma, or behind the 14 digits of a time.
    """
    if "SSSSSSS" not in pattern:
        return None
    return f"NOT {text} RLIKE {sql_literal(r'([.,]|[0-9]{14})[0-9]{6}[0-9]*[1-9]')}"


def _matches(text: str, pattern: str) -> str:
    """Return a condition: whether the whole text matches."""
    whole = rf"\A(?:{pattern})\z"
    return f"{text} RLIKE {sql_literal(whole)}"


def sql_literal(text: str) -> str:
    """Write text as a literal of SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _any(conditions: Iterator[str]) -> str | None:
    return " OR ".join(f"coalesce({each}, false)" for each in conditions) or None
