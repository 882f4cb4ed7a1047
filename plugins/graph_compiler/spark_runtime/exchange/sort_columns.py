"""A sort item as a Column: `delay DESC NULLS LAST`. Spark parses it as text only in SQL's ORDER BY."""

from __future__ import annotations

import re

from pyspark.sql import Column
from pyspark.sql.functions import expr

_ITEM = re.compile(
    r"^(?P<expression>.*?)(?:\s+(?P<way>ASC|DESC))?(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?\s*$",
    re.IGNORECASE | re.DOTALL,
)


def sort_column(item: str) -> Column:
    """Return the column with its direction; by default, NULLs are first if ascending, last if descending."""
    found = _ITEM.match(item.strip())
    assert found is not None, "every text has this form"
    column = expr(found["expression"])
    is_descending = (found["way"] or "ASC").upper() == "DESC"
    nulls = (found["nulls"] or ("LAST" if is_descending else "FIRST")).upper()
    if is_descending:
        return column.desc_nulls_last() if nulls == "LAST" else column.desc_nulls_first()
    return column.asc_nulls_last() if nulls == "LAST" else column.asc_nulls_first()
