"""A Spark application ends with all its processes."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.harness.waiting import is_running, wait_until

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

# A leader that ignores TERM, with a child that does not, as a JVM in a long collection and its Python driver.
LEADER = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: None)  # not SIG_IGN, which a child inherits
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open(sys.argv[1], "w").write(str(child.pid))
time.sleep(60)
"""


def test_children_end_at_once_and_an_unresponsive_leader_is_killed(tmp_path: Path) -> None:
    from graph_compiler.airflow_backend.provider.submit_process import end_group

    leader = subprocess.Popen([sys.executable, "-c", LEADER, str(tmp_path / "pid")], text=True, start_new_session=True)
    wait_until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
    child = int((tmp_path / "pid").read_text())
    end_group(leader, grace_seconds=1)
    wait_until(lambda: not is_running(child))
    assert leader.poll() is None
    assert leader.wait(timeout=10) == -9


def test_a_driver_that_was_asked_may_end_by_itself_and_is_ended_later(tmp_path: Path) -> None:
    from graph_compiler.airflow_backend.provider.submit_process import end_group

    program = "import sys, time; time.sleep(1.5); open(sys.argv[1], 'w').write('done'); time.sleep(60)"
    leader = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "d")], text=True, start_new_session=True)
    began = time.monotonic()
    end_group(leader, grace_seconds=1, patience=4)
    assert time.monotonic() - began < 4  # a kill of the task's process must not wait
    assert leader.wait(timeout=30) == -15
    assert (tmp_path / "d").read_text() == "done"


def test_an_ended_group_is_not_signaled() -> None:
    from graph_compiler.airflow_backend.provider.submit_process import end_group

    leader = subprocess.Popen([sys.executable, "-c", ""], text=True, start_new_session=True)
    leader.wait()
    end_group(leader)


@pytest.mark.parametrize(
    ("is_elsewhere", "is_running", "signaled"), [(False, False, True), (True, True, True), (True, False, False)]
)
def test_the_group_of_a_submission_that_has_ended_may_belong_to_others(
    is_elsewhere: bool, is_running: bool, signaled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this host it has the driver: children of a leader that is dead may still run."""
    from graph_compiler.airflow_backend.provider import submit_process

    ended: list[Any] = []
    monkeypatch.setattr(submit_process, "end_group", lambda leader, **_: ended.append(leader))
    leader: Any = SimpleNamespace(poll=lambda: None if is_running else 0)
    assert submit_process.end_driver(leader, is_elsewhere=is_elsewhere) == (not is_elsewhere)
    assert bool(ended) == signaled


class Submits:
    """Starts a command as the provider's hook does: its output is text, read to the end."""

    _process_spark_submit_log = list

    def submit(self, application: str, **kwargs: Any) -> str:
        command = [sys.executable, "-c", application]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, universal_newlines=True, encoding="utf-8", **kwargs)
        return str(process.communicate()[0])


def test_output_in_another_encoding_is_not_a_failure() -> None:
    from graph_compiler.airflow_backend.provider.submit_operator import lead_a_group

    hook: Any = Submits()
    lead_a_group(hook)
    program = "import sys; sys.stdout.buffer.write(b'caf\\xe9')"
    assert hook.submit(program) == "caf\N{REPLACEMENT CHARACTER}"


TASK = """
import subprocess, sys
from types import SimpleNamespace
from graph_compiler.airflow_backend.provider.submit_operator import lead_a_group

leader = subprocess.Popen(
    [sys.executable, "-c", sys.argv[1], sys.argv[2]], stdout=subprocess.PIPE, text=True, start_new_session=True
)
hook = SimpleNamespace(_submit_sp=leader, _process_spark_submit_log=list, submit=list)
lead_a_group(hook, grace_seconds=1)
hook._process_spark_submit_log(leader.stdout)
"""


def test_a_group_ends_with_the_process_that_waits_for_it(tmp_path: Path) -> None:
    task = subprocess.Popen(
        [sys.executable, "-c", TASK, LEADER, str(tmp_path / "pid")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    wait_until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
    child = int((tmp_path / "pid").read_text())
    leader = int(Path(f"/proc/{child}/stat").read_text().split()[3])
    task.kill()
    task.wait()
    wait_until(lambda: not is_running(child))
    wait_until(lambda: not is_running(leader))


@pytest.mark.parametrize("fails", [False, True])
def test_a_group_ends_if_its_output_is_not_read_any_more(fails: bool) -> None:
    from graph_compiler.airflow_backend.provider.submit_process import ended_unless_done

    program = "import time; time.sleep(60)"
    leader = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    if fails:
        with pytest.raises(BrokenPipeError), ended_unless_done(leader.pid, grace_seconds=0.1):
            raise BrokenPipeError
        assert leader.wait(timeout=10) == -15
    else:
        with ended_unless_done(leader.pid, grace_seconds=0.1):
            pass
        time.sleep(0.5)
        assert leader.poll() is None
        leader.kill()
        leader.wait()
