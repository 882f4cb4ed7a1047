"""Random runs of a pipeline whose source reads only what is new: each file is in exactly one published increment.

Drivers die between every two writes, tasks are cleared, two runs are at work at once, a backfill runs beside others,
folders of runs are removed. In the end a person does what the messages say, and each target has each file once.
"""

from collections.abc import Callable

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.positions.position_log import PositionError
from tests.staging.positions.world import ROOT, World

RUNS = st.sampled_from([f"r{number}" for number in range(4)])
WRITES = st.integers(0, 22)


class Positions(RuleBasedStateMachine):
    """The world, and what happens in it."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    @rule(number=st.integers(1, 3))
    def files_arrive(self, number: int) -> None:
        for _ in range(number):
            self.world.arrives()

    @rule(run=RUNS)
    def runs(self, run: str) -> None:
        """Let a run begin, or clear it."""
        self._attempt(run)

    @rule(run=RUNS, dies=WRITES, tells=st.booleans())
    def dies(self, run: str, dies: int, tells: bool) -> None:
        self._attempt(run, dies=dies, tells=tells)

    @rule(run=RUNS, other=RUNS, dies=WRITES)
    def dies_and_goes_on_after_another(self, run: str, other: str, dies: int) -> None:
        """Let a run die, another one run, as a backfill does beside a schedule, and the first one be cleared."""
        self.world.arrives()
        self._attempt(run, dies=dies)
        self._attempt(other)
        self._attempt(run)

    @rule(run=RUNS, other=RUNS, dies=WRITES, own=st.none() | WRITES)
    def two_at_once(self, run: str, other: str, dies: int, own: int | None) -> None:
        """Let another run, or another attempt of this one, go on after a run has looked for files."""
        met: list[str] = []

        def meanwhile() -> None:
            if not met:
                met.append(other)
                self.world.arrives()
                self._attempt(other, dies=dies)

        self._attempt(run, dies=own, meanwhile=meanwhile)

    @rule(run=RUNS)
    def airflow_learns_that_it_failed(self, run: str) -> None:
        self.world.tell(run, ExecutionState.FAILED)

    @rule(run=RUNS)
    def its_folder_is_removed(self, run: str) -> None:
        """Remove the documents of a run, as gc does when it is old."""
        self.world.open.pop(run, None)
        layout = StagingLayout(root=ROOT, identity=RunIdentity.own("shop", run))
        for key in [key for key in self.world.store.content if key.startswith(f"{layout.run}/")]:
            self.world.store.delete(key)

    @invariant()
    def no_file_is_published_twice(self) -> None:
        assert self.world.twice() == []

    def teardown(self) -> None:
        self.world.finish()
        assert self.world.twice() == []
        assert self.world.missing() == []

    def _attempt(
        self, run: str, *, dies: int | None = None, meanwhile: Callable[[], None] = lambda: None, tells: bool = True
    ) -> None:
        try:
            self.world.attempt(run, dies=dies, meanwhile=meanwhile, tells=tells)
        except PositionError:
            self.world.tell(run, ExecutionState.FAILED)


def test_each_file_is_in_exactly_one_published_increment() -> None:
    run_state_machine_as_test(
        Positions,
        settings=settings(
            max_examples=100,
            stateful_step_count=10,
            deadline=None,
            derandomize=True,
            phases=(Phase.generate,),  # ten steps need not be shortened, which takes minutes
        ),
    )
