"""The view as users see it: in Airflow's pages, in a real browser, with real runs."""

import json
import re
from http import HTTPStatus
from itertools import pairwise
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, FrameLocator, Locator, Page, Response, expect

from tests.browser.chromium import Scheme, logged_in
from tests.browser.conftest import accessibility_problems, opened
from tests.browser.shown import Shown
from tests.harness.standalone import until

pytestmark = [pytest.mark.browser, pytest.mark.e2e]

SECONDS = 30_000
"""How long to wait for what the page shows, in milliseconds: two cores also run Airflow and Spark."""
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def runs(shown: Shown) -> dict[str, str]:
    """Return the ids of runs that have ended, by the name of the Dag."""
    found = {dag: shown.trigger(dag) for dag in ("flights", "broken")}
    states = {dag: shown.end_of(dag, run) for dag, run in found.items()}
    assert states == {"flights": "success", "broken": "failed"}
    return found


@pytest.fixture(scope="module")
def recovered(shown: Shown, chromium: Browser) -> str:
    """Return the id of the run that recovers, watched from its beginning to its end without a reload."""
    run_id = shown.trigger("recovered")
    asked: list[Response] = []
    with opened(logged_in(chromium, shown.api)) as page:
        page.on("response", lambda answer: asked.append(answer) if "/run?" in answer.url else None)
        until(lambda: shown.api.attempt("GET", f"{of_run('recovered', run_id)}"), "the run")
        page.goto(tab("recovered", run_id))
        view = page.frame_locator("iframe")
        expect(view.locator(".summary")).to_contain_text("running", timeout=SECONDS)
        expect(region(view, "stations")).to_contain_text("RUNNING", timeout=2 * SECONDS)
        expect(region(view, "stations")).to_contain_text("FINISHED", timeout=4 * SECONDS)
        expect(node(view, "readings")).to_contain_text("20,000 rows")
        expect(region(view, "climate")).to_contain_text("attempt 2", timeout=4 * SECONDS)
        expect(region(view, "climate")).to_contain_text("FINISHED", timeout=4 * SECONDS)
        expect(view.locator(".summary")).to_contain_text("success", timeout=SECONDS)
        count = len(asked)
        page.wait_for_timeout(6_000)
        assert len(asked) == count, "a run that has ended is not asked about again"
        bodies = [answer.body() for answer in asked if answer.status == HTTPStatus.OK]
    unchanged = sum(answer.status == HTTPStatus.NOT_MODIFIED for answer in asked)
    print(f"{count} questions about a run of {seconds_of(shown, run_id):.0f} s, {unchanged} unchanged")
    assert len(bodies) + unchanged == count
    assert unchanged > 0
    assert all(one != other for one, other in pairwise(bodies)), "nothing is sent twice"
    return run_id


@pytest.mark.usefixtures("runs")
def test_a_login_leads_to_the_list_of_pipelines_and_on_to_their_runs(shown: Shown, chromium: Browser) -> None:
    page = chromium.new_page(base_url=shown.api.url)  # whose first question Airflow answers 401
    page.goto("/")
    page.get_by_role("textbox", name="Username").fill("admin")
    page.locator("input[type=password]").fill("admin")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Pipelines").click()
    view = page.frame_locator("iframe")
    rows = view.locator("tbody tr")
    expect(rows).to_have_count(6, timeout=SECONDS)
    expect(rows.filter(has_text="group each.counted")).to_contain_text("in nightly")
    flights = rows.filter(has_text="flights")
    shape = flights.locator("td.figure")
    expect(shape).to_have_text([re.compile(r"\d+ (s|min)"), "24", "13", "2", "1"])
    expect(flights).to_contain_text("1 of 1")
    expect(flights).to_contain_text("no schedule")
    expect(rows.filter(has_text="broken")).to_contain_text("failed")
    flights.get_by_role("link", name="success").click()
    expect(view.locator(".summary")).to_contain_text("2 of 2 tasks finished", timeout=SECONDS)
    view.get_by_role("link", name="All pipelines").click()
    expect(rows).to_have_count(6)
    page.close()


@pytest.mark.usefixtures("runs")
def test_a_dag_shows_its_plan_and_the_reasons_for_its_cuts(airflow_page: Page) -> None:
    airflow_page.goto(tab("flights"))
    view = airflow_page.frame_locator("iframe")
    expect(region(view, "with_weather")).to_be_visible(timeout=SECONDS)
    view.get_by_role("application").press("0")
    expect(view.locator("[data-kind=node]")).to_have_count(13)
    expect(view.locator("[data-edge=staged]")).to_contain_text("the join is")
    expect(view.get_by_role("heading", name="flights")).to_have_class("unseen")  # Airflow says it
    staged = view.locator("[data-edge=staged] rect").first
    staged.hover()
    expect(view.get_by_role("tooltip")).to_contain_text("do not repeat it when a later step fails")
    staged.click()
    details = view.get_by_role("complementary", name="Details")
    expect(details).to_contain_text("DECLARED: because you asked")
    view.get_by_role("tab", name="Stream graph").click()
    view.get_by_role("button", name="Fit the whole graph").click()
    expect(view.locator("[data-kind=node]")).to_have_count(24)
    view.get_by_role("tab", name="Execution graph").click()
    expect(view.locator("#view")).to_contain_text("13 subtasks of 13 vertices")


def test_pipelines_in_a_dag_of_a_users_own_are_chosen_by_group_and_instance(airflow_page: Page, shown: Shown) -> None:
    run_id = shown.trigger("nightly")
    assert shown.end_of("nightly", run_id) == "failed"
    airflow_page.goto(tab("nightly", run_id))
    view = airflow_page.frame_locator("iframe")
    expect(view.get_by_role("heading", name="other")).to_be_visible(timeout=SECONDS)
    expect(region(view, "last")).to_be_visible()
    assert view.get_by_label("Instance").count() == 0
    view.get_by_label("Group").select_option("each.counted")
    expect(view.get_by_role("heading", name="counted")).to_be_visible(timeout=SECONDS)
    expect(view.get_by_label("Instance")).to_have_value("0")
    view.get_by_label("Instance").select_option("1")
    expect(view.locator(".summary")).to_contain_text("0 of 2 tasks finished", timeout=SECONDS)
    expect(view.get_by_label("Instance")).to_have_value("1")
    assert "group=each.counted&map_index=1" in airflow_page.url
    airflow_page.reload()
    expect(view.get_by_label("Instance")).to_have_value("1", timeout=SECONDS)
    task = f"/dags/nightly/runs/{quote(run_id, safe='')}/tasks/each.counted.report/mapped/1"
    airflow_page.goto(f"{task}/plugin/graph-compiler-region-plan")
    expect(view.get_by_label("Group")).to_have_value("each.counted", timeout=SECONDS)
    expect(view.get_by_label("Instance")).to_have_value("1")


@pytest.mark.usefixtures("runs")
def test_the_graph_is_navigated_by_search_and_keys(airflow_page: Page) -> None:
    airflow_page.goto(tab("flights"))
    view = airflow_page.frame_locator("iframe")
    expect(region(view, "with_weather")).to_be_visible(timeout=SECONDS)
    graph = view.get_by_role("application")
    graph.press("/")
    search = view.get_by_role("combobox", name="Search")
    expect(search).to_be_focused()
    search.fill("with_ca")
    search.press("Enter")
    details = view.get_by_role("complementary", name="Details")
    expect(details.locator("h2")).to_contain_text("with_carrier_name")
    expect(graph).to_be_focused()
    graph.press("ArrowRight")
    expect(details.locator("h2")).to_contain_text("ten_worst")
    graph.press("Escape")
    expect(details).to_have_count(0)


def test_a_run_that_succeeded_leads_to_its_log_and_to_what_it_staged(airflow_page: Page, runs: dict[str, str]) -> None:
    airflow_page.goto(tab("flights", runs["flights"]))
    view = airflow_page.frame_locator("iframe")
    expect(view.locator(".summary")).to_contain_text("2 of 2 tasks finished", timeout=SECONDS)
    expect(view.locator(".summary")).to_contain_text("1,175 contract violations")
    view.locator("[data-edge=staged] rect").first.click()
    details = view.get_by_role("complementary", name="Details")
    expect(details).to_contain_text("328,521")
    expect(details.get_by_role("row", name="arr_delay")).to_contain_text("integer")
    view.get_by_label("Timeline").get_by_role("button", name="late_routes", exact=True).click()
    expect(details.locator("h2")).to_have_text("late_routes")
    details.get_by_role("link", name="log").click()
    airflow_page.wait_for_url(re.compile(r"/tasks/late_routes\?try_number=1$"))
    expect(airflow_page.get_by_text("graph_compiler: sink late_routes")).to_be_visible(timeout=SECONDS)


def test_the_url_keeps_the_selection_and_leads_to_airflows_search(airflow_page: Page, runs: dict[str, str]) -> None:
    airflow_page.goto(tab("flights", runs["flights"]))
    view = airflow_page.frame_locator("iframe")
    view.get_by_role("tab", name="Stream graph").click()
    expect(airflow_page).to_have_url(re.compile(r"/plugin/graph-compiler-run-plan\?tab=stream$"))
    airflow_page.reload()
    expect(view.get_by_role("tab", name="Stream graph")).to_have_attribute("aria-selected", "true", timeout=SECONDS)
    view.get_by_role("tab", name="Execution graph").click()
    airflow_page.go_back()
    expect(view.get_by_role("tab", name="Stream graph")).to_have_attribute("aria-selected", "true")
    expect(airflow_page).to_have_url(re.compile(r"\?tab=stream$"))
    view.get_by_role("application").press("Control+k")
    expect(airflow_page.get_by_role("dialog")).to_be_visible()


def test_rows_are_shown_on_request_to_permitted_users(
    airflow_page: Page, viewers_page: Page, runs: dict[str, str]
) -> None:
    for page in (airflow_page, viewers_page):
        page.goto(tab("flights", runs["flights"]))
        view = page.frame_locator("iframe")
        expect(view.locator(".summary")).to_contain_text("success", timeout=SECONDS)
        view.locator("[data-edge=staged] rect").first.click()
        expect(view.get_by_role("row", name="arr_delay")).to_be_visible()
    show = viewers_page.frame_locator("iframe").get_by_role("button", name="Show rows")
    expect(show).to_have_count(0)
    view = airflow_page.frame_locator("iframe")
    view.get_by_role("button", name="Show rows").click()
    rows = view.get_by_role("region", name="Rows")
    expect(rows.locator("tbody tr")).to_have_count(20, timeout=SECONDS)
    expect(rows.locator("thead")).to_contain_text("arr_delay")


def test_a_failed_region_shows_why_and_which_tasks_did_not_start(airflow_page: Page, runs: dict[str, str]) -> None:
    airflow_page.goto(tab("broken", runs["broken"]))
    view = airflow_page.frame_locator("iframe")
    expect(region(view, "halved")).to_contain_text("FAILED", timeout=SECONDS)
    expect(region(view, "halves")).to_contain_text("CANCELED")
    notes = view.locator(".notes li")
    expect(notes).to_have_count(1)
    # Text, and no element made of it: a dialog would end the test.
    expect(notes).to_contain_text("500 of 1000 rows violate '<script>alert('contract')</script>'")
    view.get_by_label("Timeline").get_by_role("button", name="halved", exact=True).click()
    details = view.get_by_role("complementary", name="Details")
    expect(details).to_contain_text("NON_RECOVERABLE_ERROR")
    expect(view.locator("img, iframe, b, i")).to_have_count(0)


def test_a_recovered_run_shows_what_was_recomputed_and_why(airflow_page: Page, recovered: str) -> None:
    airflow_page.goto(tab("recovered", recovered))
    view = airflow_page.frame_locator("iframe")
    expect(region(view, "climate")).to_contain_text("attempt 2", timeout=SECONDS)
    expect(view.locator(".bar")).to_have_count(3)
    expect(view.locator(".bar.is-recomputed")).to_have_count(1)
    notes = view.locator(".notes li")
    expect(notes.first).to_contain_text("the disk of the stage went away")
    expect(notes.last).to_contain_text("computed the result of stations again (readings, stations): 20,000 rows")


def test_the_tab_of_a_task_has_its_region_selected(airflow_page: Page, recovered: str) -> None:
    of_task = f"/dags/recovered/runs/{quote(recovered, safe='')}/tasks/climate/plugin"
    airflow_page.goto(f"{of_task}/graph-compiler-region-plan")
    details = airflow_page.frame_locator("iframe").get_by_role("complementary", name="Details")
    expect(details.locator("h2")).to_have_text("climate", timeout=SECONDS)
    expect(details).to_contain_text("2 attempts")


def test_two_versions_are_compared_as_a_picture(shown: Shown, airflow_page: Page, recovered: str) -> None:
    file = shown.dag_file("recovered")
    more = '.name("stations")\n    .filter("celsius > 0")\n    .name("warm")'
    file.write_text(file.read_text().replace('.name("stations")', more))
    versions = "/graph-compiler/api/dags/recovered/versions"
    until(lambda: len(shown.api.call("GET", versions)["versions"]) == 2, "a second version")
    airflow_page.goto(tab("recovered"))
    view = airflow_page.frame_locator("iframe")
    view.get_by_role("tab", name="Versions").click()
    changes = view.get_by_label("What differs")
    expect(changes).to_contain_text("ADDED warm", timeout=SECONDS)
    expect(node(view, "warm")).to_contain_text("changed")
    view.get_by_role("button", name="version 1").click()
    expect(node(view, "warm")).to_have_count(0)
    # The run of before is shown with the plan of before.
    airflow_page.goto(tab("recovered", recovered))
    expect(node(view, "readings")).to_be_visible(timeout=SECONDS)
    expect(node(view, "warm")).to_have_count(0)


def test_a_picture_and_a_plan_can_be_downloaded(airflow_page: Page, runs: dict[str, str]) -> None:
    airflow_page.goto(tab("flights", runs["flights"]))
    view = airflow_page.frame_locator("iframe")
    taken = {}
    for way in ("SVG", "PNG", "Mermaid", "JSON"):
        with airflow_page.expect_download(timeout=SECONDS) as download:
            view.get_by_role("button", name=f"Export as {way}").click()
        taken[way] = download.value.path().read_bytes()
    picture = ElementTree.fromstring(taken["SVG"])
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert b"with_weather" in taken["SVG"]
    assert taken["PNG"].startswith(PNG)
    assert b"flowchart" in taken["Mermaid"]
    assert len(json.loads(taken["JSON"])["vertices"]) == 13


def test_two_hundred_vertices_are_all_shown_and_searchable(airflow_page: Page) -> None:
    airflow_page.goto(tab("wide"))
    view = airflow_page.frame_locator("iframe")
    expect(view.locator(".minimap")).to_be_visible(timeout=SECONDS)
    view.get_by_role("button", name="Fit the whole graph").click()
    expect(view.locator("[data-kind=node]")).to_have_count(201)
    view.get_by_role("combobox", name="Search").fill("counted_37")
    view.get_by_role("combobox", name="Search").press("Enter")
    expect(node(view, "counted_37")).to_be_in_viewport()


def test_a_dag_that_is_not_a_pipeline_is_reported(chromium: Browser, shown: Shown) -> None:
    page = logged_in(chromium, shown.api).new_page()  # whose question is answered 404
    page.goto("/graph-compiler/app/?dag_id=somebody_elses")
    expect(page.get_by_role("alert")).to_contain_text("somebody_elses", timeout=SECONDS)
    page.context.close()


def test_only_permitted_users_see_the_view(shown: Shown, viewers_page: Page, page: Page, runs: dict[str, str]) -> None:
    viewers_page.goto(tab("flights", runs["flights"]))
    view = viewers_page.frame_locator("iframe")
    expect(view.locator(".summary")).to_contain_text("success", timeout=SECONDS)
    answer = page.request.get(f"{shown.api.url}/graph-compiler/app/")
    assert answer.status == 401
    assert "script-src 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    chromium: Browser, shown: Shown, runs: dict[str, str], recovered: str, scheme: Scheme
) -> None:
    run = quote(runs["flights"], safe="")
    again = quote(recovered, safe="")
    views = {
        "list": "",
        "job": "?dag_id=flights&tab=job&region=late_routes",
        "stream": "?dag_id=flights&tab=stream",
        "execution": f"?dag_id=flights&run_id={run}&tab=execution",
        "run": f"?dag_id=recovered&run_id={again}&tab=run&region=climate",
        "versions": "?dag_id=recovered&tab=versions",
        "wide": "?dag_id=wide",
        "group": "?dag_id=nightly&group=each.counted",
    }
    found = {}
    with opened(logged_in(chromium, shown.api, scheme)) as page:
        for name, query in views.items():
            page.goto(f"/graph-compiler/app/{query}")
            page.locator("main").wait_for(timeout=SECONDS)
            page.wait_for_load_state("networkidle")
            found[name] = accessibility_problems(page)
            expect(page.locator("html")).to_have_attribute("data-theme", scheme)
    assert found == {name: [] for name in views}


def tab(dag_id: str, run_id: str | None = None) -> str:
    """Return the address of the tab on Airflow's page."""
    if run_id is None:
        return f"/dags/{dag_id}/plugin/graph-compiler-plan"
    return f"/dags/{dag_id}/runs/{quote(run_id, safe='')}/plugin/graph-compiler-run-plan"


def of_run(dag_id: str, run_id: str) -> str:
    return f"/graph-compiler/api/dags/{dag_id}/run?run_id={quote(run_id, safe='')}"


def region(view: FrameLocator, id: str) -> Locator:
    """Return the title of a region, which has its state."""
    return view.locator(f"[data-part=title][data-id='{id}']")


def node(view: FrameLocator, words: str) -> Locator:
    """Return the box with this text."""
    return view.locator("[data-kind=node]", has_text=words)


def seconds_of(shown: Shown, run_id: str) -> float:
    run = shown.api.call("GET", of_run("recovered", run_id))
    return float(run["ended"] - run["started"])
