"""Keep pyspark from importing pandas for a call to the JVM.

py4j asks each converter whether it takes an argument. Those for NumPy (`NumpyScalarConverter`, `NumpyArrayConverter`;
4.0 to 4.3) look whether NumPy is installed, and import pyspark's test utilities for that, which import pandas: 0.8 CPU
seconds at the start of every application. What has not been imported has made no value.
"""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any

from pyspark.sql import types

_CONVERTERS = ("NumpyScalarConverter", "NumpyArrayConverter")


def look_for_numpy_only_if_loaded() -> None:
    """Change both converters; a version of pyspark that has others is left as it is."""
    for name in _CONVERTERS:
        converter = getattr(types, name, None)
        asks = getattr(converter, "can_convert", None)
        if converter is None or asks is None or hasattr(asks, "__wrapped__"):
            continue

        @wraps(asks)
        def can_convert(self: Any, obj: Any, asks: Any = asks) -> bool:
            return "numpy" in sys.modules and bool(asks(self, obj))

        converter.can_convert = can_convert
