"""Put each fixed fault back, and check that a test or a machine finds it.

    python -m tests.machine.mends [ITEM…]     all of docs/machine.md, or those with these numbers
    python -m tests.machine.mends --tests     without the machines, which search for minutes; --machines: only these

The named tests must pass on the package as it is. Then each fault (`mended_faults.py`) is put into a copy of it. It is
found where all tests named for it fail, and all machines find a sequence of steps. A test that cannot run (an import or
a name that is not there, no PostgreSQL) finds nothing. Ends with `N found, M not found`; exit code 1 if any was not.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from xml.etree import ElementTree

from tests.machine.mended_faults import FAULTS, Fault
from tests.mutants import changed_package, misplaced, run_pytest, run_python

_LONGEST = 900.0
"""Seconds for the tests of one fault."""
_MACHINE_MINUTES = {"rows": 15}
"""Of machines that need longer than five."""
_BROKEN = re.compile(r"\b(NameError|ImportError|ModuleNotFoundError|SyntaxError|UnboundLocalError)\b")


class Outcome(StrEnum):
    """The outcome of one test, or of one machine's search."""

    FOUND = "found"
    PASSED = "passes"
    SKIPPED = "was skipped"
    BROKEN = "could not run"
    HUNG = "did not end"


_COUNTS = (Outcome.SKIPPED, Outcome.PASSED, Outcome.FOUND, Outcome.HUNG, Outcome.BROKEN)
"""Of the outcomes of several parameter sets, the last of these counts."""


@dataclass(frozen=True)
class Answer:
    """The answer of one of `found_by` to a fault."""

    finder: str
    outcome: Outcome
    words: str = ""


def main() -> int:
    """Try the faults one by one, and report each result immediately."""
    arguments = _arguments()
    if lost := misplaced(edit for fault in FAULTS for edit in fault.edits):
        sys.exit("\n".join(lost))
    chosen = [fault for fault in FAULTS if fault.item in arguments.items or not arguments.items]
    if False in arguments.kinds and (failing := _failing_anyway(chosen)):
        _print(failing)
        sys.exit("these must pass on the code as it is")
    found = missed = 0
    for fault in chosen:
        finders = [finder for finder in fault.found_by if _is_machine(finder) in arguments.kinds]
        if not finders:
            continue
        started = time.monotonic()
        answers = ask(fault, finders)
        seconds = time.monotonic() - started
        is_found = all(answer.outcome is Outcome.FOUND for answer in answers)
        found, missed = found + is_found, missed + (not is_found)
        verdict = "found    " if is_found else "NOT FOUND"
        print(f"{fault.item:2}  {verdict}  {fault.what}, {seconds:.0f} s")
        _print(answers)
    print(f"{found} found, {missed} not found")
    return int(missed > 0)


def _print(answers: Sequence[Answer]) -> None:
    for answer in answers:
        print(f"      {answer.outcome}: {answer.finder}")
        if answer.words:
            print(f"        {answer.words}", flush=True)


def _failing_anyway(faults: Sequence[Fault]) -> list[Answer]:
    """Run the tests of faults on a copy without changes; return what does not pass, and so can find nothing."""
    tests = dict.fromkeys(test for fault in faults for test in named_tests(fault))
    with changed_package([]) as package:
        answers = list(_run_tests(package, list(tests), timeout=None))
    return [answer for answer in answers if answer.outcome is not Outcome.PASSED]


def ask(fault: Fault, finders: Sequence[str]) -> tuple[Answer, ...]:
    """Put a fault back, and return the answers of these of its `found_by`."""
    return tuple(_answers(fault, finders))


def named_tests(fault: Fault) -> list[str]:
    """Return the tests that must find a fault."""
    return [finder for finder in fault.found_by if not _is_machine(finder)]


def _answers(fault: Fault, finders: Sequence[str]) -> Iterator[Answer]:
    tests = [finder for finder in finders if not _is_machine(finder)]
    with changed_package(fault.edits) as package:
        if tests:
            yield from _run_tests(package, tests)
        yield from (_let_look(package, finder) for finder in finders if _is_machine(finder))


def _is_machine(finder: str) -> bool:
    return finder.startswith("machine: ")


def _run_tests(package: Path, tests: list[str], timeout: float | None = _LONGEST) -> Iterator[Answer]:
    first_only = ["-x"] if len(tests) == 1 else []
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results.xml")
        nodes = [f"tests/{test}" for test in tests]
        try:
            run = run_pytest(package, *first_only, f"--junitxml={results}", *nodes, timeout=timeout)
        except subprocess.TimeoutExpired:
            yield from (Answer(test, Outcome.HUNG) for test in tests)
            return
        cases = list(ElementTree.parse(results).iter("testcase")) if results.exists() else []
        last = run.stdout.strip().splitlines()[-1:]
    for test in tests:
        its = [_answer(test, case) for case in cases if _is_of(test, case)]
        nothing = Answer(test, Outcome.BROKEN, *last)
        yield max(its, key=lambda answer: _COUNTS.index(answer.outcome), default=nothing)


def _is_of(test: str, case: ElementTree.Element) -> bool:
    file, _, name = test.partition("::")
    module = "tests." + file.removesuffix(".py").replace("/", ".")
    found = case.get("name", "")
    return case.get("classname") == module and name in (found, found.partition("[")[0])


def _answer(test: str, case: ElementTree.Element) -> Answer:
    for kind in ("error", "failure", "skipped"):
        told = case.find(kind)
        if told is not None:
            words = (told.get("message") or "").strip().partition("\n")[0][:160]
            if kind == "skipped":
                return Answer(test, Outcome.SKIPPED, words)
            is_broken = kind == "error" or _BROKEN.search(words)
            return Answer(test, Outcome.BROKEN if is_broken else Outcome.FOUND, words)
    return Answer(test, Outcome.PASSED)


def _let_look(package: Path, finder: str) -> Answer:
    """Let a machine search until it finds something, or its time is over."""
    machine = finder.removeprefix("machine: ")
    run = run_python(
        package, *("tests.machine", "--machine", machine, "--minutes", str(_MACHINE_MINUTES.get(machine, 5)), "--first")
    )
    told = re.search(rf"^{machine} .*, FOUND$", run.stdout, re.MULTILINE)
    if told is None:
        is_clean = run.returncode == 0
        last = run.stdout.strip().splitlines()[-1:]
        return Answer(finder, Outcome.PASSED if is_clean else Outcome.BROKEN, *last)
    ending = run.stdout[told.end() :].strip().splitlines()
    words = next((line for line in reversed(ending) if re.match(r"\w+(Error|Exception)?: ", line)), "")
    is_broken = _BROKEN.search(run.stdout[told.end() :])
    return Answer(finder, Outcome.BROKEN if is_broken else Outcome.FOUND, f"{told[0]}; {words[:160]}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.machine.mends", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("items", nargs="*", type=int, metavar="ITEM")
    parser.set_defaults(kinds=(False, True))
    for option, is_machine in (("--tests", False), ("--machines", True)):
        parser.add_argument(
            option, dest="kinds", action="store_const", const=(is_machine,), help=f"run {option[2:]} only"
        )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
