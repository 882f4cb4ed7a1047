"""Runs of one pipeline with one run id, which differ only in the place of the pipeline."""

from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity


def runs_elsewhere(pipeline: str = "p", run_id: str = "r") -> dict[str, RunIdentity]:
    """Return a run for each possible place of a pipeline, its own Dag first."""

    def at(dag_id: str, group_path: str = "", map_index: int = NOT_MAPPED) -> RunIdentity:
        return RunIdentity(dag_id=dag_id, group_path=group_path, pipeline=pipeline, run_id=run_id, map_index=map_index)

    return {
        "its own Dag": at(pipeline),
        "another Dag": at("nightly"),
        "a Dag whose id differs in case": at(pipeline.swapcase()),
        "another Dag whose id does": at("Nightly"),
        "a group of its own Dag": at(pipeline, "emea"),
        "a group of another Dag": at("nightly", "emea"),
        "another group there": at("nightly", "asia"),
        "a group in that group": at("nightly", "asia.daily"),
        "mapped there": at("nightly", "asia", 0),
        "mapped there, the second": at("nightly", "asia", 1),
        "mapped in its own Dag": at(pipeline, "", 0),
    }
