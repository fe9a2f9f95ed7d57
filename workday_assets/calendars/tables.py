"""Frozen calendar files: one line for every day that differs from the weekend rule.

The header lines start with ``# `` and give name, provider, bounds, weekend rules, evidence and
fingerprint; then follows CSV with the columns date, kind, closes and reason. Kinds are ``holiday``,
``closure`` (ad hoc), ``extra`` (workday) and ``half`` (day, with its closing time).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from workday_assets.calendars.calendar import WorkdayCalendar
from workday_assets.calendars.conventions import parse_date, parse_times
from workday_assets.errors import CalendarFileError, InvalidInputError

FORMAT = "workday calendar, format 1"
_COLUMNS = ["date", "kind", "closes", "reason"]
LAYERS = {"holiday": "holidays", "closure": "closures", "extra": "extra_workdays"}


def dumps(calendar: WorkdayCalendar, evidence: str = "") -> str:
    """The text of a frozen file, the same for the same calendar."""
    header = {
        "name": calendar.name,
        "provenance": calendar.provenance,
        "first_date": str(calendar.first_date),
        "last_date": str(calendar.last_date),
        "weekend": "; ".join(
            f"{since} {','.join(map(str, days))}" for since, days in calendar.weekend_rules
        ),
        "evidence": evidence,
        "fingerprint": calendar.fingerprint,
    }
    text = io.StringIO()
    text.write(f"# {FORMAT}\n")
    for key, value in header.items():
        text.write(f"# {key}: {' '.join(value.split())}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(sorted(_rows(calendar)))
    return text.getvalue()


def loads(text: str, path: object) -> WorkdayCalendar:
    """The calendar of a frozen file's text; `path` is for error messages.

    Raises:
        CalendarFileError: the text is not such a file, or its days are not those of its
            fingerprint.
    """
    header, body = _split(text, path)
    layers: dict[str, dict[str, str]] = {layer: {} for layer in (*LAYERS.values(), "half_days")}
    seen: set[tuple[str, str]] = set()
    for line, row in body:
        if len(row) != len(_COLUMNS):
            raise CalendarFileError(path, f"{len(row)} columns where {_COLUMNS} are needed.", line)
        day, kind, closes, reason = row
        if (day, kind) in seen:
            raise CalendarFileError(path, f"a second line for {day}, {kind}; remove one.", line)
        seen.add((day, kind))
        _check(day, closes if kind == "half" else None, path, line)
        if kind == "half":
            layers["half_days"][day] = closes
        elif kind in LAYERS:
            layers[LAYERS[kind]][day] = reason
        else:
            known = ", ".join([*LAYERS, "half"])
            raise CalendarFileError(path, f"kind {kind!r} is none of {known}.", line)
    calendar = _built(header, layers, path)
    if calendar.fingerprint != header["fingerprint"]:
        raise CalendarFileError(
            path,
            f"its days have the fingerprint {calendar.fingerprint}, not the one in its header: a"
            " line was changed by hand; restore it, or write it anew with workday-assets freeze.",
        )
    return calendar


def _rows(calendar: WorkdayCalendar) -> Iterator[tuple[str, str, str, str]]:
    for kind, layer in LAYERS.items():
        days: Mapping[date, str] = getattr(calendar, layer)
        for day, reason in days.items():
            yield str(day), kind, "", " ".join(reason.split())
    for day, closes in calendar.half_days.items():
        yield str(day), "half", closes.isoformat("minutes"), ""


def _split(text: str, path: object) -> tuple[dict[str, str], list[tuple[int, list[str]]]]:
    lines = text.split("\n")  # not splitlines(): a reason may hold other separators
    count = next((n for n, line in enumerate(lines) if not line.startswith("# ")), len(lines))
    if not lines or lines[0] != f"# {FORMAT}":
        raise CalendarFileError(path, f"the first line is not '# {FORMAT}'.", 1)
    header = {}
    for line in lines[1:count]:
        key, _, value = line[2:].partition(":")
        header[key.strip()] = value.strip()
    for key in ("name", "provenance", "first_date", "last_date", "weekend", "fingerprint"):
        if key not in header:
            raise CalendarFileError(path, f"the header has no line '# {key}: …'.")
    if count == len(lines) or lines[count] != ",".join(_COLUMNS):
        raise CalendarFileError(path, f"the columns are not {','.join(_COLUMNS)}.", count + 1)
    rows = csv.reader(lines[count + 1 :], strict=True)
    try:
        return header, [(count + 1 + rows.line_num, row) for row in rows if row]
    except csv.Error as error:
        raise CalendarFileError(path, f"not CSV: {error}.", count + 1 + rows.line_num) from error


def _check(day: str, closes: str | None, path: object, line: int) -> None:
    try:
        parse_date(day, "date")
        if closes is not None:
            parse_times({day: closes}, "closes")
    except InvalidInputError as error:
        raise CalendarFileError(path, str(error), line) from error


def _built(
    header: Mapping[str, str], layers: Mapping[str, Mapping[str, str]], path: object
) -> WorkdayCalendar:
    try:
        weekend: list[tuple[str, list[Any]]] = []
        for rule in header["weekend"].split(";"):
            since, _, days = rule.strip().partition(" ")
            weekend.append((since, days.split(",") if days else []))
        return WorkdayCalendar.build(
            header["name"],
            header["first_date"],
            header["last_date"],
            weekend=weekend,
            provenance=header["provenance"],
            **layers,
        )
    except InvalidInputError as error:
        raise CalendarFileError(path, str(error)) from error
