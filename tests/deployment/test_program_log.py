"""The log of the package's programs: one line each on stdout or stderr, whatever the user's code does with logging."""

import io
import logging
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import redirect_stdout

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_compiler import program_log
from tests.harness.shown_log import shown_log

LOG = program_log.logger("graph_compiler.staging.example")


@pytest.fixture(autouse=True)
def _program() -> Iterator[None]:
    with shown_log():
        yield


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """Yield the root logger, and restore it afterwards."""
    found = logging.getLogger()
    before, level = found.handlers[:], found.level
    yield found
    found.handlers[:], found.level = before, level


def test_a_line_goes_to_stdout_and_a_warning_to_stderr_each_with_the_programs_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    LOG.info("source %s: %s", "flights", "3 input splits")
    LOG.warning("%s is left\n  hint: DROP TABLE %s", "x", "x")
    LOG.error("100%% of %s", "it")
    LOG.debug("nobody sees this")
    captured = capsys.readouterr()
    assert captured.out == "graph_compiler: source flights: 3 input splits\n"
    assert captured.err == ("graph_compiler: x is left\n  hint: DROP TABLE x\ngraph_compiler: 100% of it\n")


def test_a_broken_stream_does_not_end_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        closed = io.StringIO()
        closed.close()
        patch.setattr(sys, "stdout", closed)
        LOG.info("nobody reads this")
    LOG.info("and this comes after it")
    assert capsys.readouterr().out == "graph_compiler: and this comes after it\n"


def test_each_line_is_printed_once_and_not_by_the_users_handlers(
    capsys: pytest.CaptureFixture[str], root: logging.Logger
) -> None:
    logging.basicConfig(level=logging.DEBUG, format="theirs: %(message)s", force=True)
    program_log.show_logs()
    LOG.warning("once")
    logging.getLogger("pipelines.mine").info("a function's")
    assert capsys.readouterr().err == "graph_compiler: once\ntheirs: a function's\n"
    assert len(root.handlers) == 1


def test_a_users_logging_configuration_disables_nothing() -> None:
    program = (
        "import logging, logging.config; from graph_compiler import program_log; "
        "log = program_log.logger('graph_compiler.example'); program_log.show_logs(); "
        "logging.config.dictConfig({'version': 1, 'root': {'level': 'CRITICAL'}}); "
        "log.info('after dictConfig'); logging.disable(logging.CRITICAL); log.info('after disable')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "graph_compiler: after dictConfig\ngraph_compiler: after disable\n"


def test_a_level_set_for_the_package_is_respected(capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger("graph_compiler").setLevel(logging.ERROR)
    LOG.warning("too much")
    assert capsys.readouterr().err == ""


def test_other_loggers_keep_their_class() -> None:
    assert type(logging.getLogger("pipelines.of_mine")) is logging.getLoggerClass()
    assert logging.getLoggerClass() is logging.Logger


def test_as_a_library_the_package_prints_no_log(caplog: pytest.LogCaptureFixture) -> None:
    package = program_log.logger(program_log.NAME)
    package.handlers[:], package.propagate = [], True
    package.setLevel(logging.NOTSET)
    LOG.warning("%s is left", "x")
    assert caplog.messages == ["x is left"]
    assert caplog.records[0].name == "graph_compiler.staging.example"


def test_lines_carry_what_they_are_about(capsys: pytest.CaptureFixture[str]) -> None:
    log = program_log.logger("graph_compiler.tests")
    with shown_log(), program_log.about({"pipeline": "sales@nightly:emea", "attempt": 2}):
        log.info("begins")
        with program_log.about({"vertex": "Source: rows -> kept"}):
            log.info("a message\nof two lines, 100%% and\n  hint: none")
        log.info("ends")
    with shown_log():
        log.info("after it")
    assert capsys.readouterr().out == (
        "graph_compiler: begins [pipeline=sales@nightly:emea attempt=2]\n"
        "graph_compiler: a message [pipeline=sales@nightly:emea attempt=2"
        ' vertex="Source: rows -> kept"]\n  of two lines, 100%% and\n  hint: none\n'
        "graph_compiler: ends [pipeline=sales@nightly:emea attempt=2]\n"
        "graph_compiler: after it\n"
    )


def test_a_value_adds_no_line_and_no_field() -> None:
    shown = program_log.with_fields("x", {"run": 'a\n"] other=1', "empty": ""})
    assert shown == 'x [run="a\\n\\"] other=1" empty=""]'


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text(st.characters(exclude_categories=()))).map(tuple), st.text(st.characters(exclude_categories=()))
)
def test_no_value_looks_like_another_record_or_moves_the_cursor(values: tuple[str, ...], field: str) -> None:
    stream = io.StringIO()
    with redirect_stdout(stream), program_log.about({"region": field}):
        program_log.logger("graph_compiler.tests").info("%s is left", "\nERROR ".join(values))
    first, *more = stream.getvalue().removesuffix("\n").split("\n")
    assert first.startswith("graph_compiler: ")
    assert all(not line.strip() or line[0].isspace() for line in more)
    unshown = ("Cc", "Cs", "Zl", "Zp")
    controls = {each for each in stream.getvalue() if unicodedata.category(each) in unshown}
    assert controls <= {"\n", "\t"}
