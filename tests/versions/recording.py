"""Record what our modules call in Spark's JVM: `make test-all`, and `pytest -p tests.versions.recording tests/spark`.

New calls are added to used.txt, a line each: the class, the method or the constructor, the number of arguments. The
class is the one that declares the method first, from which others inherit it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j import java_gateway
from py4j.protocol import STATIC_PREFIX

import graph_compiler
from tests.versions.class_files import CONSTRUCTOR, Jars

INSTALLED = Path(pyspark.__file__).parent / "jars"
USED = Path(__file__).with_name("used.txt")
_OURS = str(Path(graph_compiler.__file__).parent)
_PACKAGES = ("org.apache.spark.", "org.apache.hadoop.")
_MOST_CALLS = 20
"""A line that walks through plans calls methods of a hundred classes, which inherit them from a few."""


class Recorder:
    """The calls of our own modules; py4j's classes are changed as long as it is used."""

    def __init__(self) -> None:
        self.calls: set[tuple[str, str, int]] = set()
        self._seen: Counter[tuple[str, int, str]] = Counter()
        self._asking = False

    def is_new(self, name: str) -> bool:
        """Whether a call comes from a line of ours that has not called this often."""
        caller = sys._getframe(2)
        place = caller.f_code.co_filename, caller.f_lineno, name
        if self._asking or not place[0].startswith(_OURS) or self._seen[place] >= _MOST_CALLS:
            return False
        self._seen[place] += 1
        return True

    def add(self, class_name: str, member: str, arguments: int) -> None:
        """Note a call."""
        self.calls.add((class_name, member, arguments))

    def lines(self) -> Iterator[str]:
        """Yield the calls of what Spark or Hadoop declares."""
        jars = Jars(INSTALLED)
        for name, member, arguments in self.calls:
            declared_in = jars.declared_in(name, member, arguments)
            if declared_in is not None and declared_in.startswith(_PACKAGES):
                yield f"{declared_in} {member} {arguments}"

    def class_of(self, member: Any) -> str:
        """Return the name of an object's class, or of a class whose static method is called."""
        if member.container is None:
            return str(member.target_id).removeprefix(STATIC_PREFIX)
        self._asking = True
        try:
            return str(member.container.getClass().getName())
        finally:
            self._asking = False


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Iterator[None]:
    """Record while the tests run, and write down what is new."""
    recorder, call, make = Recorder(), java_gateway.JavaMember.__call__, java_gateway.JavaClass.__call__

    def recorded_call(self: Any, *args: Any) -> Any:
        if recorder.is_new(self.name):
            recorder.add(recorder.class_of(self), self.name, len(args))
        return call(self, *args)

    def recorded_make(self: Any, *args: Any) -> Any:
        if recorder.is_new(CONSTRUCTOR):
            recorder.add(self._fqn, CONSTRUCTOR, len(args))
        return make(self, *args)

    java_gateway.JavaMember.__call__, java_gateway.JavaClass.__call__ = recorded_call, recorded_make
    try:
        return (yield)
    finally:
        java_gateway.JavaMember.__call__, java_gateway.JavaClass.__call__ = call, make
        with USED.open("a+") as file:
            flock(file, LOCK_EX)  # of several processes that run tests
            file.seek(0)
            found = {*file.read().splitlines(), *recorder.lines()}
            file.truncate(0)
            file.writelines(f"{line}\n" for line in sorted(found))
