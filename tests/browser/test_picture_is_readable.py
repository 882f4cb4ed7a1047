"""What a person sees: text that is large enough and not covered, states where they belong, nothing out of sight."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, ViewportSize, expect

from tests.browser.chromium import Scheme
from tests.browser.conftest import accessibility_problems, opened
from tests.browser.made_up import APP, FAILED_OPERATOR, REASON, serve

pytestmark = pytest.mark.browser

LEAST_TEXT = 11.0
SIZES: dict[str, ViewportSize] = {
    "wide": {"width": 1440, "height": 900},
    "tablet": {"width": 1024, "height": 768},
    "phone": {"width": 390, "height": 844},
}
RUNS = ["success", "failed", "waiting", "running"]
TEXT_SIZES = """elements => elements.map(element =>
    [element.textContent, Number(element.getAttribute('font-size')) * element.getScreenCTM().a])"""


IS_SELECTED_INSIDE = """() => {
    const boxOf = query => document.querySelector(query).getBoundingClientRect()
    const [one, frame] = [boxOf('rect.selection'), boxOf('.graph-frame')]
    const isBeside = one.left >= frame.left && one.right <= frame.right
    return isBeside && one.top >= frame.top && one.bottom <= frame.bottom
}"""


@pytest.fixture(params=SIZES)
def sized(chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Yield a page of each size."""
    with opened(chromium.new_context(viewport=SIZES[request.param])) as page:
        serve(page)
        yield page


def show(page: Page, run_id: str | None = None) -> None:
    """Open the plan, or a run of it, and wait for its picture."""
    page.goto(APP + (f"?dag_id=flights&run_id={run_id}&tab=run" if run_id else "?dag_id=flights"))
    expect(page.locator("[data-kind=node]").first).to_be_visible()


def box(locator: Locator) -> FloatRect:
    found = locator.bounding_box()
    assert found is not None
    return found


def ink(text: FloatRect) -> FloatRect:
    """Return the part of a line of text that has letters; the space above and below may be that of the next line."""
    space = text["height"] * 0.12
    return {**text, "y": text["y"] + space, "height": text["height"] - 2 * space}


def overlap(one: FloatRect, other: FloatRect) -> bool:
    return (
        one["x"] < other["x"] + other["width"] - 1
        and other["x"] < one["x"] + one["width"] - 1
        and one["y"] < other["y"] + other["height"] - 1
        and other["y"] < one["y"] + one["height"] - 1
    )


def is_inside(one: FloatRect, frame: FloatRect) -> bool:
    return (
        one["x"] >= frame["x"]
        and one["y"] >= frame["y"]
        and one["x"] + one["width"] <= frame["x"] + frame["width"]
        and one["y"] + one["height"] <= frame["y"] + frame["height"]
    )


@pytest.mark.parametrize("run_id", [None, *RUNS])
def test_no_text_of_a_picture_is_small_empty_or_over_another(sized: Page, run_id: str | None) -> None:
    show(sized, run_id)
    sizes = sized.locator(".graph-drawing text").evaluate_all(TEXT_SIZES)
    assert len(sizes) > 5
    assert [(text, size) for text, size in sizes if size < LEAST_TEXT or not text.strip()] == []
    texts = sized.locator("[data-kind=node] text, [data-part=title] text").all()
    for (one, first), (other, second) in combinations([(t.text_content(), ink(box(t))) for t in texts], 2):
        assert not overlap(first, second), (one, other)
    # Every title is above the lines, and no vertex is over one.
    nodes = [box(node) for node in sized.locator("[data-kind=node]").all()]
    for title in sized.locator("[data-part=title] text").all():
        assert not any(overlap(box(title), node) for node in nodes), title.text_content()


def test_the_picture_uses_the_window(sized: Page) -> None:
    show(sized)
    frame = box(sized.locator(".graph-frame"))
    nodes = [box(node) for node in sized.locator("[data-kind=group]:not([data-part])").all()]
    left, top = min(one["x"] for one in nodes), min(one["y"] for one in nodes)
    right = max(one["x"] + one["width"] for one in nodes)
    bottom = max(one["y"] + one["height"] for one in nodes)
    # It fills one direction, or is larger than the window and can be moved.
    assert max((right - left) / frame["width"], (bottom - top) / frame["height"]) > 0.9


def test_the_reason_of_a_cut_and_the_rows_are_on_the_picture(sized: Page) -> None:
    show(sized, "success")
    sized.get_by_role("button", name="Fit the whole graph").click()
    sized.get_by_role("application").press("0")
    for _ in range(12):  # to full scale, around the middle, where the cut is drawn though it may be outside
        sized.get_by_role("button", name="Zoom in").click()
        if "staged" in (sized.locator(".graph-drawing").text_content() or ""):
            break
    drawing = sized.locator(".graph-drawing")
    expect(drawing).to_contain_text("the join is")
    expect(drawing).to_contain_text("336,776 rows")


def test_one_vertex_of_a_failed_task_is_failed(sized: Page) -> None:
    show(sized, "failed")
    # It is opened at what failed, though a phone shows a part of the graph.
    drawn = sized.locator("[data-kind=node]", has_text="FAILED")
    expect(drawn).to_be_in_viewport()
    expect(drawn).to_have_count(1)
    expect(drawn).to_contain_text(FAILED_OPERATOR)
    legend = sized.get_by_role("group", name="Legend")
    for state in ("FINISHED", "CANCELED", "FAILED"):
        expect(legend).to_contain_text(state)
    notes = sized.locator(".notes li")
    expect(notes).to_have_count(1)
    expect(notes).to_contain_text("attempts 1, 2")
    for line in REASON.split("\n")[1:]:
        expect(notes).to_contain_text(line.strip())


def test_what_never_ran_has_no_state_and_no_bar(sized: Page) -> None:
    show(sized, "waiting")
    row = sized.locator(".timeline-row").last
    expect(row).to_contain_text("CANCELED · did not run")
    expect(row.locator(".bar")).to_have_count(0)
    assert row.locator(".bars").evaluate("one => getComputedStyle(one).backgroundColor") == "rgba(0, 0, 0, 0)"


def test_the_timeline_says_what_was_waited_for(sized: Page) -> None:
    show(sized, "success")
    waits = sized.locator(".wait")
    expect(waits.nth(0)).to_have_attribute("title", "scheduled 1 min 40 s")
    expect(waits.nth(1)).to_have_attribute("title", "queued 20 s")
    expect(waits).to_have_count(3)


def test_an_attempt_is_counted_and_a_try_is_airflows(sized: Page) -> None:
    show(sized, "failed")
    sized.get_by_label("Timeline").get_by_role("button", name="late_routes", exact=True).click()
    details = sized.get_by_role("complementary", name="Details")
    expect(details).to_contain_text("attempt 2 (try 3 in Airflow)")
    expect(details).to_contain_text("attempt 1 ·")


def test_batches_of_a_stream_are_a_table_that_scrolls_by_itself(sized: Page) -> None:
    show(sized, "batches")
    sized.get_by_label("Timeline").get_by_role("button", name="late_routes", exact=True).click()
    details = sized.get_by_role("complementary", name="Details")
    table = details.get_by_role("region", name="Batches")
    expect(table.locator("thead th")).to_have_text(
        ["batch", "rows in", "rows out", "late", "watermark", "state rows", "state", "behind", "waited", "time"]
    )
    expect(table.locator("tbody tr")).to_have_count(50)
    first = [
        "199",
        "336,776",
        "1,200",
        "3",
        "2013-01-05 00:22:00",
        "1,234,567",
        "988 MB",
        "12,345",
        "1 h 30 min",
        "1.3 s",
    ]
    expect(table.locator("tbody tr").first.locator("td")).to_have_text(first)
    assert box(table)["width"] <= box(details)["width"]
    assert table.evaluate("one => one.scrollHeight > one.clientHeight")
    assert accessibility_problems(sized) == []


@pytest.mark.parametrize("name", ["flights", "ten_worst", "lateness_by_age"])
def test_what_is_selected_is_visible_beside_its_details(sized: Page, name: str) -> None:
    show(sized, "success")
    search = sized.get_by_role("combobox", name="Search")
    search.fill(name)
    search.press("Enter")
    expect(sized.get_by_role("complementary", name="Details")).to_be_visible()
    expect(sized.locator("rect.selection")).to_be_visible()
    sized.wait_for_function(IS_SELECTED_INSIDE)
    assert is_inside(box(sized.locator("rect.selection")), box(sized.locator(".graph-frame")))


def test_nothing_lies_over_the_graph_but_its_map(sized: Page) -> None:
    show(sized, "failed")
    frame = box(sized.locator(".graph-frame"))
    for part in (".legend", ".controls", ".export", ".timeline", ".summary"):
        assert not overlap(frame, box(sized.locator(part))), part
    minimap = sized.locator(".minimap")
    if minimap.is_visible():
        assert min(box(minimap)["width"], box(minimap)["height"]) >= 48


def test_the_list_shows_what_runs_and_how_often_it_succeeds(sized: Page) -> None:
    sized.goto(APP)
    rows = sized.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("29 queued")
    expect(rows.nth(0).get_by_role("link", name="running")).to_be_visible()
    expect(rows.nth(0)).to_contain_text("2 of 3")
    expect(rows.nth(0)).to_contain_text("3 min 20 s")
    expect(rows.nth(0)).to_contain_text("0 6 * * *")
    expect(rows.nth(1).get_by_role("link", name="queued")).to_be_visible()
    expect(rows.nth(1)).to_contain_text("since 2023-11-14 22:13:20 UTC · 2 more queued")
    expect(rows.nth(2)).to_contain_text("never ran")
    expect(rows.nth(2)).to_contain_text("0 6 * * *, paused")
    assert all((link.text_content() or "").strip(" –") for link in sized.get_by_role("link").all())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_serious_in_any_size(chromium: Browser, size: str, scheme: Scheme) -> None:
    with opened(chromium.new_context(viewport=SIZES[size], color_scheme=scheme)) as page:
        serve(page)
        page.goto(APP)
        expect(page.locator("tbody tr")).to_have_count(3)
        assert accessibility_problems(page) == []
        show(page, "failed")
        assert accessibility_problems(page) == []
