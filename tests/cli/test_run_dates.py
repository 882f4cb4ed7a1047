"""A run under the project's own Airflow is named after its date, and no two runs have one name."""

from datetime import UTC, datetime, timedelta, timezone

from graph_compiler.cli.arguments.asked_run import named_after


def test_a_run_has_its_day_and_the_time_at_which_it_starts() -> None:
    found = named_after("2013-01-01", datetime(2026, 11, 22, 10, 0, 7, 5, tzinfo=UTC))
    assert found == "2013-01-01T10:00:07.000005+00:00"


def test_a_run_keeps_its_day_where_clocks_show_another() -> None:
    east = timezone(timedelta(hours=9))
    found = named_after("2013-01-01", datetime(2026, 11, 22, 3, 0, tzinfo=east))
    assert found == "2013-01-01T18:00:00+00:00"


def test_two_runs_of_a_date_have_two_names() -> None:
    now = datetime(2026, 11, 22, tzinfo=UTC)
    later = now + timedelta(microseconds=1)
    assert named_after("2013-01-01", now) != named_after("2013-01-01", later)
