"""The page of an audit in a real browser: every cell has its status, its place and its words."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from playwright.sync_api import Page
from support.audited import Audited, copy_of
from support.browser import browser_page

from workday_assets.cli.audit_html import render
from workday_assets.cli.audit_observe import observe

#: From Monday 23 December 2024 to Friday 10 January 2025 the ECB is closed on three weekdays:
#: 25 and 26 December and 1 January. The other twelve are workdays.
SPAN = {"start": date(2024, 12, 23), "end": date(2025, 1, 10)}


@pytest.fixture(scope="module")
def damaged(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """Rates with a lost file and an orphan; crosses made from 2 January on, with a failed day."""
    folder = tmp_path_factory.mktemp("damaged")
    with copy_of(template, folder) as instance:
        history = Audited(folder, instance)
        file = history.file("reference_rates", "2024-12-31")
        content = file.read_bytes()
        file.unlink()
        assert not history.make("usd_crosses", "2024-12-31").success
        file.write_bytes(content)
        history.file("reference_rates", "2024-12-30").unlink()
        history.report("reference_rates", "2024-12-25")
        yield history


@pytest.fixture(scope="module")
def file(damaged: Audited, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of its audit."""
    path = tmp_path_factory.mktemp("page") / "audit.html"
    audit = damaged.audit("reference_rates", "usd_crosses", "weekly_summary", **SPAN)
    path.write_text(render(audit), "utf-8")
    return path


@pytest.fixture
def page(file: Path) -> Iterator[Page]:
    """That page in a browser."""
    with browser_page(1366, 768) as found:
        asked_for: list[str] = []
        found.on("request", lambda request: asked_for.append(request.url))
        found.goto(file.as_uri())
        assert asked_for == [file.as_uri()], "the page refers to something outside itself"
        yield found


def cells(page: Page, asset: str) -> dict[str, int]:
    """How many cells of each status the map of an asset shows."""
    found: dict[str, int] = page.evaluate(
        """name => {
            const counts = {};
            const section = [...document.querySelectorAll("section.map")]
                .find(s => s.querySelector("h2").firstChild.textContent === name);
            for (const cell of section.querySelectorAll("[data-status]"))
                counts[cell.dataset.status] =
                    (counts[cell.dataset.status] || 0) + Number(cell.dataset.cells);
            return counts;
        }""",
        asset,
    )
    return found


def boxes(page: Page) -> list[dict[str, Any]]:
    """Every stretch of cells with its place and size on the screen."""
    found: list[dict[str, Any]] = page.evaluate(
        """() => [...document.querySelectorAll("section.map [data-status]")].map(cell => {
            const box = cell.getBoundingClientRect();
            return {status: cell.dataset.status, cells: Number(cell.dataset.cells),
                    map: cell.closest("section").id, title: cell.querySelector("title").textContent,
                    x: box.x, y: box.y, width: box.width, height: box.height};
        })"""
    )
    return found


def test_counts_of_cells(page: Page) -> None:
    """As counted by hand: twelve workdays and three closed days of each workday asset."""
    assert cells(page, "ecb/reference_rates") == {"done": 11, "file": 1, "orphan": 1, "closed": 2}
    assert cells(page, "ecb/usd_crosses") == {"done": 7, "failed": 1, "missing": 4, "closed": 3}
    # The weeks of 23 and 30 December, which begin in 2024, and of 6 January.
    assert cells(page, "ecb/weekly_summary") == {"missing": 2, "done": 1}


def test_cells_are_where_they_say(page: Page) -> None:
    """A stretch is as wide as its cells; rows are years; tooltips name days and reasons."""
    drawn = [box for box in boxes(page) if box["map"] == "map0" and box["status"] == "done"]
    widths = {round(box["width"] / box["cells"], 1) for box in drawn}
    assert widths == {4.8}, "262 places and their labels fit 1318 pixels"
    assert all(box["height"] >= 8 for box in drawn)
    assert len({round(box["y"]) for box in drawn}) == 2, "2024 and 2025"
    weeks = {box["title"][:10]: box["x"] for box in boxes(page) if box["map"] == "map2"}
    # 2024 began with a Monday, so that 23 December is its 52nd; 6 January is the first of 2025.
    assert weeks["2024-12-23"] - weeks["2025-01-06"] == pytest.approx(51 * 12, abs=1)
    titles = {box["title"] for box in boxes(page)}
    assert "2025-01-01 Wed: closed, New Year's Day" in titles
    assert "2024-12-25: made, and closed now; 2024-12-25 is Christmas Day in XECB" in titles
    assert "2025-01-02 to 2025-01-10: 7 done" in titles
    assert "2024-12-31: failed; its run failed" in titles


def test_it_fits_a_laptop(page: Page) -> None:
    """Nothing reaches past the right edge of a small laptop's screen."""
    assert page.evaluate("document.documentElement.scrollWidth") <= 1366
    assert all(box["x"] + box["width"] <= 1366 for box in boxes(page))
    page.set_viewport_size({"width": 900, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 900


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_statuses_differ_without_colour(page: Page, scheme: Any) -> None:
    """Done, closed and failed are told apart by lightness alone; the others have own shapes."""
    page.emulate_media(color_scheme=scheme)
    luminance: dict[str, float] = page.evaluate(
        """() => Object.fromEntries(["done", "closed", "failed", "orphan", "changed"].map(name => {
            const shape = document.createElementNS("http://www.w3.org/2000/svg", "rect");
            shape.setAttribute("class", name);
            document.querySelector("section.map svg").append(shape);
            const parts = getComputedStyle(shape).fill.match(/[0-9.]+/g).slice(0, 3);
            const [r, g, b] = parts.map(part => {
                const c = part / 255;
                return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
            });
            return [name, 0.2126 * r + 0.7152 * g + 0.0722 * b];
        }))"""
    )

    def contrast(one: str, other: str) -> float:
        high, low = sorted((luminance[one], luminance[other]), reverse=True)
        return (high + 0.05) / (low + 0.05)

    assert contrast("done", "closed") >= 1.6
    for loud in ("failed", "orphan", "changed"):
        assert contrast("done", loud) >= 2.5
    marks = page.locator(".legend svg").evaluate_all("all => all.map(svg => svg.innerHTML)")
    shapes = {mark.replace("done", "").replace("closed", "") for mark in marks}
    assert len(marks) == 9
    assert len(shapes) == 8, "only done and closed, plain boxes, have the same shape"


def test_words_of_the_page(page: Page) -> None:
    """The outcome comes first; every finding is in a table below."""
    # Rates: an orphan without a file, a lost file. Crosses: four missing, one failed. Two weeks.
    assert page.locator(".verdict").inner_text() == "10 findings in 27 expected partitions."
    rows = page.locator(".lists section").filter(has_text="ecb/usd_crosses5 findings")
    text = rows.inner_text()
    assert "failed\t2024-12-31\tits run failed (run " in text


def test_observations_show_the_map(page: Page, damaged: Audited) -> None:
    """Each asset's page in Dagster has the numbers, the findings, and a picture that draws."""
    audit = damaged.audit("reference_rates", "usd_crosses", **SPAN)
    observe(damaged.instance, audit, Path("audit.html"))
    crosses = dg.AssetKey(["ecb", "usd_crosses"])
    (record,) = damaged.instance.fetch_observations(crosses, limit=2).records
    observation = record.event_log_entry.asset_observation
    assert observation is not None
    metadata = {key: value.value for key, value in observation.metadata.items()}
    assert (metadata["audit/expected"], metadata["audit/materialized"]) == (12, 7)
    assert metadata["audit/findings"].startswith("- missing 4 partitions 2024-12-23 to 2024-12-30:")
    assert metadata["audit/page"] == str(Path("audit.html").resolve())
    address = metadata["audit/map"].removeprefix("![heat-map](").removesuffix(")")
    text = base64.b64decode(address.partition(",")[2]).decode()
    assert text.count('data-status="missing"') == 4
    page.goto("about:blank")  # the audit's own page lets no picture in
    size = page.evaluate(
        """address => new Promise((done, fail) => {
            const picture = new Image();
            picture.onload = () => done([picture.naturalWidth, picture.naturalHeight]);
            picture.onerror = () => fail("the picture cannot be drawn");
            picture.src = address;
        })""",
        address,
    )
    # 262 places of five pixels and two rows of nine, with their labels 1384 by 31, made narrower.
    assert size == [1090, 24]
