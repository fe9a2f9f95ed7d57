"""Builds a calendar from a file that a person or another program keeps: CSV, ICS or TOML."""

from __future__ import annotations

import csv
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from workday_assets.calendars import tables
from workday_assets.calendars.calendar import WorkdayCalendar
from workday_assets.calendars.conventions import DateLike, Weekend, parse_date, parse_times
from workday_assets.errors import CalendarFileError, InvalidInputError

_TOML_KEYS = {"name", "first", "last", "weekend", *tables.LAYERS.values(), "half_days"}
_UNSUPPORTED = ("RRULE", "RDATE", "EXDATE", "DURATION")


def from_file(
    path: str | os.PathLike[str],
    first: DateLike | None = None,
    last: DateLike | None = None,
    weekend: Weekend = (5, 6),
    name: str | None = None,
) -> WorkdayCalendar:
    """A calendar from a file, of the kind that its ending says.

    - ``.csv`` written by ``freeze``: it states its own name, bounds and weekend; `first` and
      `last` narrow it.
    - ``.csv`` otherwise: a header line with the column ``date`` and, as wanted, ``kind``
      (``holiday``, the default, ``closure``, ``extra`` or ``half``), ``closes`` and ``reason``.
    - ``.ics``: every all-day event is a holiday on each of its days, its end excluded.
    - ``.toml``: the arguments of `WorkdayCalendar.build` as keys; `first`, `last` and `name` given
      here win.

    Args:
        path: the file, UTF-8.
        first: first date that the file vouches for, included.
        last: last such date, included; a list of holidays does not say it.
        weekend: as of `WorkdayCalendar.build`; for CSV and ICS.
        name: the calendar's name; `None` for the file's stem.

    Raises:
        CalendarFileError: the file cannot be read as what its ending says; with its line.
        InvalidInputError: a bound is missing.
    """
    file = Path(path)
    text = _text(file)
    title = name or file.stem
    if file.suffix == ".csv" and text.startswith(f"# {tables.FORMAT}"):
        return tables.loads(text, file).between(first, last)
    if file.suffix == ".toml":
        return _from_toml(text, file, first, last, title if name else None)
    readers: dict[str, Callable[[str, Path], dict[str, Any]]] = {
        ".csv": _csv_layers,
        ".ics": _ics_layers,
    }
    if file.suffix not in readers:
        raise CalendarFileError(file, "its ending is none of .csv, .ics and .toml.")
    start, end = _bounds(file, first, last)
    layers = readers[file.suffix](text, file)
    return WorkdayCalendar.build(
        title, start, end, weekend=weekend, provenance=f"file {file.name}", **layers
    )


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CalendarFileError(file, f"cannot be read as UTF-8 text ({error}).") from error


def _bounds(file: Path, first: Any, last: Any) -> tuple[Any, Any]:
    if first is None or last is None:
        raise InvalidInputError(
            f"{'first' if first is None else 'last'}=None for {file}: a list of days does not say"
            " for which dates it vouches; give first and last."
        )
    return first, last


def _from_toml(text: str, file: Path, first: Any, last: Any, name: str | None) -> WorkdayCalendar:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CalendarFileError(file, f"not TOML: {error}.") from error
    unknown = sorted(set(data) - _TOML_KEYS)
    if unknown:
        known = ", ".join(sorted(_TOML_KEYS))
        raise CalendarFileError(file, f"key {unknown[0]!r} is none of {known}.")
    title = name or data.pop("name", file.stem)
    start, end = _bounds(
        file,
        data.pop("first", None) if first is None else first,
        data.pop("last", None) if last is None else last,
    )
    layers = {key: value for key, value in data.items() if key not in {"name", "first", "last"}}
    try:
        return WorkdayCalendar.build(title, start, end, provenance=f"file {file.name}", **layers)
    except (InvalidInputError, TypeError, AttributeError) as error:
        raise CalendarFileError(file, str(error)) from error


def _csv_layers(text: str, file: Path) -> dict[str, Any]:
    layers: dict[str, Any] = {layer: {} for layer in (*tables.LAYERS.values(), "half_days")}
    reader = csv.DictReader(text.splitlines(), strict=True)
    names = list(reader.fieldnames or ())
    if "date" not in names:
        raise CalendarFileError(file, "the first line names no column 'date'.", 1)
    if len(set(names)) < len(names):
        raise CalendarFileError(file, f"the first line names a column twice: {names}.", 1)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise CalendarFileError(
                    file, f"not as many cells as the {len(names)} columns.", reader.line_num
                )
            kind = (row.get("kind") or "holiday").strip()
            day = _day((row["date"] or "").strip(), file, reader.line_num)
            if kind == "half":
                closes = (row.get("closes") or "").strip()
                try:
                    parse_times({day: closes}, "closes")
                except InvalidInputError as error:
                    raise CalendarFileError(file, str(error), reader.line_num) from error
                layers["half_days"][day] = closes
            elif kind in tables.LAYERS:
                layers[tables.LAYERS[kind]][day] = row.get("reason") or kind
            else:
                known = ", ".join([*tables.LAYERS, "half"])
                raise CalendarFileError(file, f"kind {kind!r} is none of {known}.", reader.line_num)
    except csv.Error as error:
        raise CalendarFileError(file, f"not CSV: {error}.", reader.line_num) from error
    return layers


@dataclass
class _Event:
    line: int
    properties: dict[str, str] = field(default_factory=dict)


def _ics_layers(text: str, file: Path) -> dict[str, Any]:
    holidays: dict[date, str] = {}
    for event in _events(text, file):
        for unsupported in _UNSUPPORTED:
            if unsupported in event.properties:
                raise CalendarFileError(
                    file, f"{unsupported} is not supported; list every day.", event.line
                )
        if event.properties.get("STATUS") == "CANCELLED":
            continue
        start = _ics_day(event, "DTSTART", file)
        end = start + timedelta(days=1)
        if "DTEND" in event.properties:
            end = max(_ics_day(event, "DTEND", file), end)
        for ahead in range((end - start).days):
            holidays[start + timedelta(days=ahead)] = event.properties.get("SUMMARY", "holiday")
    return {"holidays": holidays}


def _events(text: str, file: Path) -> Iterator[_Event]:
    """The events of an iCalendar text (RFC 5545), each with its properties' plain values."""
    if not text.startswith("BEGIN:VCALENDAR"):
        raise CalendarFileError(file, "the first line is not BEGIN:VCALENDAR.", 1)
    event: _Event | None = None
    for number, line in _unfolded(text):
        key, _, value = line.partition(":")
        key = key.partition(";")[0].upper()
        if line == "BEGIN:VEVENT":
            event = _Event(number)
        elif line == "END:VEVENT" and event is not None:
            yield event
            event = None
        elif event is not None:
            event.properties[key] = _unescaped(value)
    if event is not None:
        raise CalendarFileError(file, "the event that begins here does not end.", event.line)


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Logical lines with the number of their first physical line."""
    number, logical = 1, ""
    for at, line in enumerate(text.splitlines(), start=1):
        if line[:1] in (" ", "\t"):
            logical += line[1:]
            continue
        if logical:
            yield number, logical
        number, logical = at, line
    if logical:
        yield number, logical


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.)", lambda found: " " if found[1] in "nN" else found[1], value)


def _ics_day(event: _Event, key: str, file: Path) -> date:
    value = event.properties.get(key, "")
    if len(value) != 8 or not value.isdigit():
        raise CalendarFileError(
            file,
            f"{key} {value!r} is not a whole day; write it as {key};VALUE=DATE:YYYYMMDD.",
            event.line,
        )
    return _day(f"{value[:4]}-{value[4:6]}-{value[6:]}", file, event.line)


def _day(value: str, file: Path, line: int) -> date:
    try:
        return parse_date(value, "date")
    except InvalidInputError as error:
        raise CalendarFileError(file, str(error), line) from error
