"""Spark's JVM: its classes and objects, its exceptions, and what only the Spark context has.

Calls go through py4j, which is part of pyspark (0.10.9.9 in 4.3). Any call may raise its errors:

    Py4JError              the call did not work
      Py4JJavaError        a Java exception was thrown
      Py4JNetworkError     the JVM is gone, or does not respond
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, wraps
from typing import Any

from py4j import protocol
from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.sql import Column, SparkSession, types
from pyspark.sql.functions import builtin

from graph_compiler.deployment.documents.wire import PLAIN

__all__ = [
    "ChangingNumber",
    "JavaClass",
    "Py4JError",
    "Py4JJavaError",
    "Py4JNetworkError",
    "add_jar",
    "application_settings",
    "condition_message",
    "connected_jvm",
    "ease_java_calls",
    "hadoop_configuration",
    "is_java_instance",
    "is_spark_throwable",
    "jar_of",
    "java_array",
    "java_class",
    "java_class_name",
    "java_exceptions",
    "java_identity",
    "java_property",
    "lit",
    "once_for_context",
    "read_in_parts",
    "scala_map",
    "scala_object",
    "scala_sequence",
    "stop_left_context",
    "submitted_conf",
    "wait_for_listeners",
]

_MOST_CAUSES = 20
_NUMPY_CONVERTERS = ("NumpyScalarConverter", "NumpyArrayConverter")
_LIT = builtin.lit


@dataclass(slots=True)
class _OfContext:
    """Objects of one Spark context, by name: calls to the JVM take time, and a stream makes them for each batch."""

    context: Any = None
    known: dict[str, Any] = field(default_factory=dict)


_LAST_CONTEXT = _OfContext()


def once_for_context(spark: SparkSession, name: str, make: Callable[[], Any]) -> Any:
    """Return what stays the same for a Spark context, and is made once. `SparkSession._jsc`: 4.x classic."""
    if _LAST_CONTEXT.context is not spark._jsc:
        _LAST_CONTEXT.context, _LAST_CONTEXT.known = spark._jsc, {}
    if name not in (known := _LAST_CONTEXT.known):
        known[name] = make()
    return known[name]


def application_settings(spark: SparkSession) -> Mapping[str, str]:
    """Return the settings of the application: those that it began with. pyspark asks for each of them again."""
    found: Mapping[str, str] = once_for_context(spark, "conf", lambda: dict(spark.sparkContext.getConf().getAll()))
    return found


def stop_left_context() -> None:
    """Stop the context that a process before this one has left in the same JVM: it was killed."""
    SparkContext._ensure_initialized()
    contexts = getattr(getattr(connected_jvm().org.apache.spark, "SparkContext$"), "MODULE$")
    left = contexts.getActive()
    if left.isDefined():
        left.get().stop()


def submitted_conf() -> SparkConf:
    """Return the settings that spark-submit was given.

    A SparkConf has them only if the JVM is connected before (`SparkContext._ensure_initialized`: 4.x classic).
    """
    SparkContext._ensure_initialized()
    return SparkConf()


def connected_jvm() -> Any:
    """Return the JVM that spark-submit has started, before there is a session. `SparkContext._jvm`: 4.x classic."""
    SparkContext._ensure_initialized()
    assert SparkContext._jvm is not None, "it is connected"
    return SparkContext._jvm


def java_array(kind: Any, *values: Any) -> Any:
    """Return an array of a Java class, for methods with a variable number of arguments.

    `SparkContext._gateway`: 4.x classic.
    """
    assert SparkContext._gateway is not None, "it is connected"
    array = SparkContext._gateway.new_array(kind, len(values))
    for place, value in enumerate(values):
        array[place] = value
    return array


def java_class(spark: SparkSession, name: str) -> Any:  # a class or a Scala object: py4j has no types for them
    """Return a class by its full name. `SparkSession._jvm`: 4.x classic."""
    assert spark._jvm is not None
    return _found_class(spark._jvm, name)


@cache
def _found_class(jvm: Any, name: str) -> Any:
    """Ask a JVM for a class once, in one call: dots in Python would need one each, and search all jars for packages."""
    return getattr(jvm, name)


def jar_of(spark: SparkSession, name: str) -> str | None:
    """Return the place of the jar of a class, None if there is no such class. `Utils.classForName`: 4.x."""
    try:
        found = java_class(spark, "org.apache.spark.util.Utils").classForName(name, False, True)
    except Py4JJavaError:
        return None
    return str(found.getProtectionDomain().getCodeSource().getLocation().getPath())


def java_property(spark: SparkSession, name: str) -> str:
    """Return a property of the driver's JVM, empty if it has none of that name."""
    return str(java_class(spark, "java.lang.System").getProperty(name, ""))


def scala_object(spark: SparkSession, name: str) -> Any:
    """Return a Scala object as a value, even if its class has methods that hide the object's."""
    return getattr(java_class(spark, f"{name}$"), "MODULE$")


def java_class_name(value: Any) -> str:
    """Return the simple name of a Java object's class."""
    return str(value.getClass().getSimpleName())


def java_identity(value: Any) -> int:
    """Return a number of a Java object that two objects practically never share, even if they are equal.

    `SparkContext._jvm`: 4.x classic.
    """
    return int(_found_class(SparkContext._jvm, "java.lang.System").identityHashCode(value))


def is_java_instance(value: Any, name: str) -> bool:
    """Whether a Java object is of a class or an interface, by its full name.

    As py4j's `is_instance_of`, which looks for its own class in all jars each time. `SparkContext._jvm`: 4.x classic.
    """
    types_of_java = _found_class(SparkContext._jvm, "py4j.reflection.TypeUtil")
    return bool(types_of_java.isInstanceOf(name, value))


def scala_map(spark: SparkSession, values: Any) -> Any:
    """Return a dict, or a Java map, as an immutable Scala Map. `PythonUtils.toScalaMap`, private in Scala: 4.3."""
    return _python_utils(spark).toScalaMap(values)


def scala_sequence(spark: SparkSession, values: Sequence[Any]) -> Any:
    """Return Java objects as a Scala Seq. `PythonUtils.toSeq`, private in Scala: 4.3."""
    return _python_utils(spark).toSeq(list(values))


def hadoop_configuration(spark: SparkSession) -> Any:
    """Return the Hadoop configuration of the Spark context. `SparkSession._jsc`: 4.x classic."""
    context = spark._jsc
    assert context is not None
    return once_for_context(spark, "hadoopConfiguration", context.hadoopConfiguration)


def decimal_symbols(spark: SparkSession, locale: str) -> tuple[str, str]:
    """Return how a locale (`de-DE`) writes the decimal point, and what it puts between thousands."""
    tag = java_class(spark, "java.util.Locale").forLanguageTag(locale)
    symbols = java_class(spark, "java.text.DecimalFormatSymbols").getInstance(tag)
    return str(symbols.getDecimalSeparator()), str(symbols.getGroupingSeparator())


def wait_for_listeners(spark: SparkSession, milliseconds: int) -> None:
    """Wait until listeners have received all events; raises the JVM's TimeoutException after that time.

    `SparkContext.listenerBus`, private to Spark in Scala: 4.3.
    """
    context = spark._jsc
    assert context is not None
    once_for_context(spark, "listenerBus", lambda: context.sc().listenerBus()).waitUntilEmpty(milliseconds)


def add_jar(spark: SparkSession, uri: str) -> None:
    """Let executors fetch a jar of this host before their next tasks. `JavaSparkContext.addJar`: 4.x classic."""
    assert spark._jsc is not None
    spark._jsc.addJar(uri)


def read_in_parts(spark: SparkSession, path: str, tasks: int) -> None:
    """Let executors read a file, each task a part of it, without Python; raises Py4JError if one cannot.

    `JavaSparkContext.textFile`: 4.x classic.
    """
    assert spark._jsc is not None
    uri = f"file://{path}" if path.startswith("/") else path
    spark._jsc.textFile(uri, tasks).count()


def java_exceptions(error: BaseException) -> list[Any]:
    """Return the Java exception behind a Python one and its causes, outermost first.

    A captured exception keeps it as `_origin`: 4.x classic.
    """
    name = "java_exception" if isinstance(error, Py4JJavaError) else "_origin"
    current = getattr(error, name, None)
    found: list[Any] = []
    while current is not None and len(found) < _MOST_CAUSES:  # a chain may lead back into itself
        found.append(current)
        current = current.getCause()
    return found


def is_spark_throwable(java: Any) -> bool:
    """Whether a Java exception has an error condition. `SparkThrowable.getCondition`: 4.x."""
    return is_java_instance(java, "org.apache.spark.SparkThrowable") and (java.getCondition() is not None)


def condition_message(condition: str, parameters: Mapping[str, str]) -> str | None:
    """Return Spark's sentence for an error condition, None for one that another library has.

    `SparkThrowableHelper.getMessage`, private in Scala: 4.3.
    """
    assert SparkContext._jvm is not None
    helper = SparkContext._jvm.org.apache.spark.SparkThrowableHelper
    try:
        return str(helper.getMessage(condition, dict(parameters)))
    except Py4JJavaError:
        return None


def _python_utils(spark: SparkSession) -> Any:
    return java_class(spark, "org.apache.spark.api.python.PythonUtils")


def lit(col: Any) -> Column:
    """Return a constant, as pyspark's function of this name does, without importing pandas for it.

    `functions.builtin._invoke_function`: 4.1 to 4.3.
    """
    if isinstance(col, Column):
        return col
    if isinstance(col, list | Enum) or "numpy" in sys.modules:
        return _LIT(col)
    return builtin._invoke_function("lit", col)


class ChangingNumber:
    """A number in plans that the driver may change: what Spark plans later has the new one, folded into a constant.

    `UnsafeArrayData.setLong`, `Literal`, `ExpressionUtils.column`: 4.1 to 4.3 classic. The literal is an array of one
    number, whose content Catalyst does not copy.
    """

    def __init__(self, spark: SparkSession) -> None:
        catalyst, types_of_spark = "org.apache.spark.sql.catalyst.expressions", "org.apache.spark.sql.types.DataTypes"
        arrays = java_class(spark, f"{catalyst}.UnsafeArrayData")
        kinds = java_class(spark, types_of_spark)
        self._numbers = arrays.fromPrimitiveArray(java_array(java_class(spark, "long"), 0))
        array = java_class(spark, f"{catalyst}.Literal")(self._numbers, kinds.createArrayType(kinds.LongType, False))
        columns = java_class(spark, "org.apache.spark.sql.classic.ExpressionUtils")
        self.column = Column(columns.column(array)).getItem(0)

    def change(self, number: int) -> None:
        """Let it be another number in what is planned from now on."""
        self._numbers.setLong(0, number)


class _PlainValues:
    """A converter of py4j that leaves plain values as they are: else it asks all others about each."""

    def can_convert(self, value: object) -> bool:
        """Whether it is one, and not of a class of its own, such as a number of NumPy."""
        return type(value) in PLAIN

    def convert(self, value: object, _client: object) -> object:
        """Return it."""
        return value


def ease_java_calls() -> None:
    """Let calls to the JVM take less time: py4j looks at values once, and pyspark imports no pandas for them.

    `lit`, which many of pyspark's functions call, and its converters for NumPy (4.0 to 4.3) look whether NumPy is
    installed, and import pyspark's test utilities for that, which import pandas: 0.8 CPU seconds at the start of every
    application. What has not been imported has made no value. What another version has not is left out.
    """
    builtin.lit = lit
    if not any(isinstance(each, _PlainValues) for each in protocol.INPUT_CONVERTER):
        protocol.register_input_converter(_PlainValues(), prepend=True)
    for name in _NUMPY_CONVERTERS:
        converter = getattr(types, name, None)
        asks = getattr(converter, "can_convert", None)
        if converter is None or asks is None or hasattr(asks, "__wrapped__"):
            continue

        @wraps(asks)
        def can_convert(self: Any, obj: Any, asks: Any = asks) -> bool:
            return "numpy" in sys.modules and bool(asks(self, obj))

        converter.can_convert = can_convert
