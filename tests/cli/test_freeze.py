"""`workday-assets freeze` and `diff` on real files and the real provider."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from workday_assets import WorkdayCalendar
from workday_assets.calendars import catalog, tables
from workday_assets.cli import main


def run(*words: str, code: int = 0) -> str:
    """What the command prints; its exit code must be `code`."""
    result = CliRunner().invoke(main, list(words), catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.output


def test_freeze_writes_a_file_that_loads(tmp_path: Path) -> None:
    """A calendar outside the catalog is frozen with the bounds that are asked for."""
    file = tmp_path / "FR.csv"
    said = run(
        *("freeze", "FR", "--first", "2024-01-01", "--last", "2024-12-31"),
        *("--output", str(file)),
    )
    assert "There was no frozen calendar of that name before." in said
    calendar = tables.loads(file.read_text("utf-8"), file)
    assert (str(calendar.first_date), str(calendar.last_date)) == ("2024-01-01", "2024-12-31")
    assert not calendar.is_workday("2024-07-14")
    assert not calendar.is_workday("2024-05-08")
    assert calendar.is_workday("2024-05-07")


def test_freeze_says_what_it_changes(tmp_path: Path) -> None:
    """Writing over a file prints the days that differ from it."""
    file = tmp_path / "XECB.csv"
    old = WorkdayCalendar.named("XECB").with_closures({"2024-05-07": "a mistake"})
    file.write_text(tables.dumps(old), "utf-8")
    said = run("freeze", "XECB", "--output", str(file), "--allow-history")
    assert "Days that become workdays (1):" in said
    assert "2024-05-07 Tue  a mistake -> workday  PAST CLOSURE REMOVED" in said
    assert tables.loads(file.read_text("utf-8"), file) == WorkdayCalendar.named("XECB")


def test_diff_of_an_unchanged_calendar_is_empty() -> None:
    """The shipped XECB is what the provider answers: exit code 0."""
    assert run("diff", "XECB") == "No difference.\n"


def test_diff_names_every_day_and_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Added, removed and lost closures are told apart, as text and as data."""
    frozen = (
        WorkdayCalendar.named("XECB")
        .with_closures({"2024-05-07": "a mistake"})
        .with_extra_workdays({"2030-12-25": "nobody goes home"})
    )
    monkeypatch.setattr(catalog, "load", lambda _: frozen)
    said = run("diff", "XECB", code=1)
    assert "2030-12-25 Wed  nobody goes home -> Christmas Day" in said
    assert "1 past closures would be gone" in said
    assert json.loads(run("diff", "XECB", "--json", code=1)) == {
        "added": [
            {
                "day": "2024-05-07",
                "before": "a mistake",
                "after": "workday",
                "past_closure_removed": True,
            }
        ],
        "removed": [
            {
                "day": "2030-12-25",
                "before": "nobody goes home",
                "after": "Christmas Day",
                "past_closure_removed": False,
            }
        ],
        "changed": [],
        "old_bounds": ["1999-01-01", "2035-12-31"],
        "new_bounds": ["1999-01-01", "2035-12-31"],
    }


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("diff", "FR"), "has no frozen calendar to compare"),
        (("freeze", "FR"), "first"),
        (("freeze", "NOWHERE", "--first", "2024-01-01", "--last", "2024-12-31"), "NOWHERE"),
    ],
    ids=["not-frozen", "no-bounds", "unknown"],
)
def test_refusals_exit_with_2(words: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    """What cannot be frozen or compared is one sentence, and no file is left."""
    output = ("--output", str(tmp_path / "x.csv")) if words[0] == "freeze" else ()
    said = run(*words, *output, code=2)
    assert sentence in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "words", "sentence"),
    [
        (
            WorkdayCalendar.named("XECB").with_closures({"2024-05-07": "a mistake"}),
            (),
            "history would change: 2024-05-07 (a mistake -> workday);",
        ),
        (
            WorkdayCalendar.named("XECB").with_extra_workdays({"2024-12-25": "nobody went home"}),
            (),
            "history would change: 2024-12-25 (nobody went home -> Christmas Day);",
        ),
        (
            WorkdayCalendar.named("XECB"),
            ("--first", "2001-01-01"),
            "history would change: the dates before 2001-01-01;",
        ),
        (
            WorkdayCalendar.named("XECB"),
            ("--last", "2025-12-31"),
            "history would change: the dates after 2025-12-31;",
        ),
    ],
    ids=["closure-gone", "workday-gone", "first-years-gone", "last-years-gone"],
)
def test_freeze_keeps_history(
    old: WorkdayCalendar, words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    """What takes away days before today is refused, and the file stays, unless it is meant."""
    file = tmp_path / "XECB.csv"
    file.write_text(tables.dumps(old), "utf-8")
    said = run("freeze", "XECB", *words, "--output", str(file), code=2)
    assert sentence in " ".join(said.split())
    assert tables.loads(file.read_text("utf-8"), file) == old
    run("freeze", "XECB", *words, "--output", str(file), "--allow-history")
    assert tables.loads(file.read_text("utf-8"), file) != old


def test_freeze_may_change_the_future(tmp_path: Path) -> None:
    """A later day that closes, and more years, need no permission."""
    file = tmp_path / "XECB.csv"
    shorter = WorkdayCalendar.named("XECB").between(None, "2033-12-31")
    old = shorter.with_extra_workdays({"2032-12-24": "still open"}).with_closures(
        {"2033-03-03": "not yet agreed"}
    )
    file.write_text(tables.dumps(old), "utf-8")
    run("freeze", "XECB", "--output", str(file))
    assert tables.loads(file.read_text("utf-8"), file) == WorkdayCalendar.named("XECB")


def test_diff_with_a_file(tmp_path: Path) -> None:
    """A calendar that somebody wrote is compared instead of the provider's; names must agree."""
    file = tmp_path / "own.csv"
    closed = WorkdayCalendar.named("XECB").with_closures({"2025-01-09": "mourning"})
    file.write_text(tables.dumps(closed), "utf-8")
    said = run("diff", "XECB", "--with", str(file), code=1)
    assert said == "Days that close (1):\n  2025-01-09 Thu  workday -> mourning\n"
    assert "holds the calendar XECB, and NAME is XNYS" in run(
        "diff", "XNYS", "--with", str(file), code=2
    )
