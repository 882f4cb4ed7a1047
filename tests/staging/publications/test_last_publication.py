"""Whether what an execution has published is still there, unless a later publication has removed it."""

from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.staging.publications.carrier import carry_out
from graph_compiler.staging.publications.ledger import Ledger, is_in_place
from graph_compiler.staging.publications.publications import Intent, Publication
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.folders import SINK, on_disk, prepare


class Target:
    """A folder to which executions publish, those of later runs too."""

    def __init__(self, folder: Path) -> None:
        layout = StagingLayout(root=str(folder / "staging"), identity=RunIdentity.own("p", "r"))
        self.ledger = Ledger(store=LocalStore(), layout=layout, plan_id="plan")
        self.folder = folder / "out"

    def publish(
        self, execution_id: str, *, run: str = "r", remove: tuple[str, ...] = (), replaces: tuple[str, ...] = ()
    ) -> None:
        """Publish the file of an execution."""
        layout = replace(self.ledger.layout, identity=RunIdentity.own("p", run))
        ledger = replace(self.ledger, layout=layout)

        def bring_in(publication: Publication) -> None:
            assert isinstance(publication, Intent)
            carry_out(on_disk(publication))
            ledger.finish(publication)

        number = ledger.settle(str(self.folder), SINK, bring_in)
        prepared = prepare(
            self.folder, add=[f"day=1/part-{execution_id}"], remove=remove, replaces=replaces, execution_id=execution_id
        )
        ledger.decide(replace(prepared, number=number, identity=layout.identity))
        ledger.settle(str(self.folder), SINK, bring_in)

    def has(self, execution_id: str) -> bool:
        """Ask of an execution of the first run."""
        ledger = self.ledger
        return is_in_place(ledger.store, ledger.layout, str(self.folder), execution_id)


@pytest.fixture
def target(tmp_path: Path) -> Target:
    found = Target(tmp_path)
    found.publish("e1")
    return found


def test_files_that_are_there_are_in_place(target: Target) -> None:
    assert target.has("e1")


def test_a_removed_file_is_missed(target: Target) -> None:
    (target.folder / "day=1" / "part-e1").unlink()
    assert not target.has("e1")


def test_a_removed_file_is_missed_also_if_another_run_has_added_to_the_folder_since(target: Target) -> None:
    target.publish("e2", run="other")
    assert target.has("e1")
    (target.folder / "day=1" / "part-e1").unlink()
    assert not target.has("e1")


@pytest.mark.parametrize("replaces", [(), ("day=1",), (".",)])
def test_a_file_that_a_later_publication_has_removed_is_not_missed(replaces: tuple[str, ...], target: Target) -> None:
    target.publish("e2", run="other", remove=("day=1/part-e1",), replaces=replaces)
    assert not (target.folder / "day=1" / "part-e1").exists()
    assert target.has("e1")


def test_what_was_never_published_is_not_missed(target: Target) -> None:
    assert target.has("e7")
