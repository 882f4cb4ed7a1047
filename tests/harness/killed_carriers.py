"""Publish to one folder from several processes, kill them with SIGKILL at random, and let a watcher list it meanwhile.

python -m tests.harness.killed_carriers FOLDER SEED KILLS   →   {"kills": …, "published": …, "views": …, "wrong": […]}

It is a separate process, which forks: the killed processes have no Spark, and do not need it to carry out an intent.
On a busy host, it kills more, until there is enough to see.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import PublicationConflictError
from graph_compiler.staging.publications.carrier import carry_out
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import Intent, Publication
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.folders import SINK, on_disk, prepare, put, seen

FILES = 6
EVERY = 0.02
ENOUGH = 50
"""The least number of publications, and of looks at the folder."""


def main(folder: Path, seed: int, kills: int) -> dict[str, object]:
    target, views = folder / "out", folder / "views"
    ledger = _ledger(folder, "end")
    chance = random.Random(seed)
    put(target, [f"first_{file}" for file in range(FILES)])
    watcher = _fork(partial(_watch, target, views))
    carriers: list[int] = []
    for number in range(10 * kills):
        if number >= kills and len(list(folder.rglob("*.done.json"))) > ENOUGH and _lines(views) > ENOUGH:
            break
        while len(carriers) < 2:
            name = f"c{number}-{len(carriers)}"
            carriers.append(_fork(partial(_publish_for_ever, folder, target, name)))
        time.sleep(chance.uniform(0.002, 0.03))
        _kill(carriers.pop(chance.randrange(2)))
    for pid in (*carriers, watcher):
        _kill(pid)
    published = ledger.settle(str(target), SINK, partial(_finish, ledger))
    found = [line.split() for line in views.read_text().splitlines()]
    return {
        "kills": number,
        "published": published,
        "views": len(found),
        "wrong": [view for view in [*found, sorted(seen(target))] if not _is_whole(view)],
        # Who is killed before it decides leaves what it prepared, and nobody has claimed that.
        "claims": [str(path) for path in folder.glob(".out.*/*/*") if path.name != "ready"],
    }


def _lines(file: Path) -> int:
    return file.read_text().count("\n") if file.exists() else 0


def _publish_for_ever(folder: Path, target: Path, name: str) -> None:
    number = 0
    while True:
        number += 1
        ledger = _ledger(folder, f"{name}-{number}")
        next_number = ledger.settle(str(target), SINK, partial(_finish, ledger))
        intent = prepare(
            target,
            add=[f"{name}-{number}_{file}" for file in range(FILES)],
            remove=sorted(seen(target)),
            replaces=["."],
            execution_id=f"{name}-{number}",
        )
        try:
            ledger.decide(replace(intent, number=next_number))
            _finish(ledger, replace(intent, number=next_number))
        except PublicationConflictError:
            continue


def _finish(ledger: Ledger, intent: Publication) -> None:
    assert isinstance(intent, Intent)
    carry_out(on_disk(intent))
    ledger.finish(intent)


def _watch(target: Path, views: Path) -> None:
    with views.open("w", buffering=1) as log:
        while True:
            log.write(" ".join(sorted(seen(target))) + "\n")
            time.sleep(EVERY)


def _is_whole(view: list[str]) -> bool:
    return len(view) == FILES and len({name.partition("_")[0] for name in view}) == 1


def _ledger(folder: Path, run: str) -> Ledger:
    layout = StagingLayout(root=str(folder / "staging"), identity=RunIdentity.own("p", run))
    return Ledger(store=LocalStore(), layout=layout, plan_id="plan")


def _fork(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(1)
    return pid


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
