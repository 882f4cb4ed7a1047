"""The text of `explain --submit`."""

from graph_compiler.deployment.documents.submission import PipelineSubmission, TaskSubmission
from graph_compiler.explain.text.submit_text import submit_text

COMMAND = ("spark-submit", "--master", "local[2]", "--conf", "spark.x=a b", "main.py", "d.json")


def text(**task: object) -> str:
    found = TaskSubmission(task="orders", conn_id="spark_default", **task)  # type: ignore[arg-type]  # a test's facts
    return submit_text(PipelineSubmission(pipeline="p", tasks=(found,)))


def test_a_command_can_be_pasted_into_a_shell() -> None:
    assert text(command=COMMAND, environment=(("PYTHONPATH", "/a b"),)) == (
        "orders    connection spark_default\n"
        "  PYTHONPATH='/a b' \\\n"
        "  spark-submit \\\n"
        "    --master 'local[2]' \\\n"
        "    --conf 'spark.x=a b' \\\n"
        "    main.py d.json"
    )


def test_a_refused_task_has_its_problem_in_place_of_a_command() -> None:
    assert text(problem="it is refused\n  allowed: yarn") == (
        "orders    connection spark_default\n  it is refused\n    allowed: yarn"
    )


def test_secrets_are_named() -> None:
    lines = text(command=COMMAND, secrets=("Secret(db.password)",)).splitlines()
    assert lines[1] == "  added to the environment: Secret(db.password)"
