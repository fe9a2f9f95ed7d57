"""The ECB's history file as a value: bytes in, `History` out.

Nothing here reads a file, an address or the clock, and nothing here knows Dagster.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import numpy.typing as npt
import pandas as pd

from workday_assets.calendars import WorkdayCalendar
from workday_assets.errors import SourceError, SourceUnavailableError

Days = npt.NDArray[np.datetime64]

#: The full history is 2 MB of CSV after 28 years; more than this is not that file.
MAX_CSV_BYTES = 64 * 1024 * 1024

_NOT_QUOTED = ("N/A", "")
_CURRENCY = re.compile(r"[A-Z]{3}")
_ZIP_MAGIC = b"PK"


@dataclass(frozen=True, eq=False)
class History:
    """Reference rates by day, oldest first; the arrays are read-only.

    Attributes:
        source: the file or address they came from, without credentials.
        days: ``datetime64[D]``, strictly ascending, shape ``(n,)``.
        rows: the file's row of each day, counted from 1 without the header, shape ``(n,)``.
        currencies: ISO codes in the file's order.
        rates: units of the currency per euro, NaN where not quoted, shape
            ``(n, len(currencies))``.
    """

    source: str
    days: Days
    rows: npt.NDArray[np.intp]
    currencies: tuple[str, ...]
    rates: npt.NDArray[np.float64]

    @property
    def first_date(self) -> date:
        """The oldest day, included."""
        return _date(self.days[0])

    @property
    def last_date(self) -> date:
        """The newest day, included."""
        return _date(self.days[-1])

    def table(self, days: Sequence[date | str]) -> pd.DataFrame:
        """The rows of `days` (dates or ISO strings), one per day.

        Returns:
            Index ``date``, ``datetime64[ms]``, ascending; a float64 column per currency in
            alphabetical order, units per euro, NaN where not quoted.

        Raises:
            SourceError: a day has no row.
        """
        wanted = np.unique(np.asarray(days, dtype="datetime64[D]"))
        position = np.searchsorted(self.days, wanted)
        found = self.days[np.minimum(position, len(self.days) - 1)] == wanted
        if not found.all():
            raise SourceError(self.source, self._absent(), day=_date(wanted[~found][0]))
        frame = pd.DataFrame(
            self.rates[position],
            index=pd.DatetimeIndex(wanted.astype("datetime64[ms]"), name="date"),
            columns=pd.Index(self.currencies),
        )
        return frame.sort_index(axis="columns")

    def _absent(self) -> str:
        return (
            "the day has no row; the rows are the workdays from"
            f" {self.first_date} to {self.last_date} (both included)."
        )

    def verify(self, calendar: WorkdayCalendar) -> None:
        """Compare the days, inside the calendar's bounds, with its workdays.

        Raises:
            SourceError: a workday between the first and the last row has no row, or a row is of a
                closed day.
        """
        first, last = np.datetime64(calendar.first_date), np.datetime64(calendar.last_date)
        inside = (self.days >= first) & (self.days <= last)
        ours = self.days[inside]
        if not len(ours):
            return
        past = _date(ours[-1] + np.timedelta64(1, "D"))
        workdays = np.asarray(calendar.workdays(_date(ours[0]), past), dtype="datetime64[D]")
        self._refuse_closed(np.setdiff1d(ours, workdays), calendar)
        self._refuse_hole(np.setdiff1d(workdays, ours), calendar)

    def _refuse_closed(self, closed: Days, calendar: WorkdayCalendar) -> None:
        if len(closed):
            day = _date(closed[0])
            why = f"a row of a day that is closed in {calendar.name}: {calendar.describe(day)}."
            row = int(self.rows[np.searchsorted(self.days, closed[0])])
            raise SourceError(self.source, why, row=row, day=day)

    def _refuse_hole(self, missing: Days, calendar: WorkdayCalendar) -> None:
        if len(missing):
            at = int(np.searchsorted(self.days, missing[0]))
            before, after = (f"{_date(self.days[i])} (row {self.rows[i]})" for i in (at - 1, at))
            why = f"a workday of {calendar.name} without a row, between {before} and {after}."
            raise SourceError(self.source, why, row=int(self.rows[at]), day=_date(missing[0]))


def read_history(raw: bytes, source: str) -> History:
    """The history in `raw`, a CSV file or a zip file with one CSV file in it.

    Args:
        raw: the file's content.
        source: the file's name or address in errors, without credentials.

    Raises:
        SourceError: the content is not the ECB's history; the error names row and date where
            there is one.
        SourceUnavailableError: the CSV file is larger than `MAX_CSV_BYTES`.
    """
    return _parse(_unzip(raw, source) if raw.startswith(_ZIP_MAGIC) else raw, source)


def _unzip(raw: bytes, source: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            names = [n for n in archive.namelist() if n.lower().endswith(".csv")]
            if len(names) != 1:
                raise SourceError(
                    source, f"the zip file holds {len(names)} CSV files, and it must hold one."
                )
            with archive.open(names[0]) as member:
                content = member.read(MAX_CSV_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        why = f"the zip file is damaged or cut off ({error}); get it again."
        raise SourceError(source, why) from error
    if len(content) > MAX_CSV_BYTES:
        why = f"the CSV file in it is larger than the limit of {MAX_CSV_BYTES} bytes."
        raise SourceUnavailableError(source, why)
    return content


def _parse(content: bytes, source: str) -> History:
    header, cells = _cells(content, source)
    days, rows = _days(cells[:, 0], source)
    rates = _rates(cells[:, 1 : 1 + len(header)], header, cells[:, 0], source)[rows - 1]
    for array in (days, rows, rates):
        array.flags.writeable = False
    return History(source, days, rows, header, rates)


def _cells(content: bytes, source: str) -> tuple[tuple[str, ...], npt.NDArray[np.object_]]:
    """The currencies, and all cells as strings, shape ``(rows, columns)``, in file order."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(source, "it is not a text file, so not the ECB's CSV.") from error
    if text.lstrip().startswith("<"):
        raise SourceError(
            source, "it is an HTML or XML page, not the ECB's CSV; check the address."
        )
    lines = [line for line in csv.reader(io.StringIO(text)) if line]
    if not lines:
        raise SourceError(source, "it is empty.")
    header = _header(lines[0], source)
    for row, line in enumerate(lines[1:], start=1):
        if len(line) != len(lines[0]):
            why = f"{len(line)} cells, and the header has {len(lines[0])}; is the file cut off?"
            raise SourceError(source, why, row=row)
    if len(lines) == 1:
        raise SourceError(source, "it has a header and no rows.")
    return header, np.array(lines[1:], dtype=object)


def _header(line: Sequence[str], source: str) -> tuple[str, ...]:
    """The currencies of the header; the ECB ends every line with a comma, so an empty cell."""
    codes = tuple(line[1:-1] if line[-1] == "" else line[1:])
    right = line[0] == "Date" and codes and all(map(_CURRENCY.fullmatch, codes))
    if not right or len(set(codes)) != len(codes):
        shown = ",".join(line)[:60]
        why = f"the header {shown!r} is not 'Date' and then one column per currency code."
        raise SourceError(source, why)
    return codes


def _days(texts: npt.NDArray[np.object_], source: str) -> tuple[Days, npt.NDArray[np.intp]]:
    """The days ascending, and the file row of each, counted from 1."""
    parsed = pd.to_datetime(pd.Series(texts), format="%Y-%m-%d", errors="coerce")
    bad = np.flatnonzero(parsed.isna())
    if len(bad):
        why = f"{texts[bad[0]]!r} is not a date of the form YYYY-MM-DD."
        raise SourceError(source, why, row=int(bad[0]) + 1)
    days = parsed.to_numpy().astype("datetime64[D]")
    order = np.argsort(days, kind="stable")
    days = days[order]
    twice = np.flatnonzero(days[1:] == days[:-1])
    if len(twice):
        first, second = order[twice[0]] + 1, order[twice[0] + 1] + 1
        why = f"the date stands twice, first in row {first}."
        raise SourceError(source, why, row=int(second), day=_date(days[twice[0]]))
    return days, order + 1


def _rates(
    cells: npt.NDArray[np.object_],
    header: Sequence[str],
    days: npt.NDArray[np.object_],
    source: str,
) -> npt.NDArray[np.float64]:
    """The cells as numbers, NaN where not quoted, in file order."""
    flat = pd.Series(cells.ravel())
    rates = pd.to_numeric(flat, errors="coerce").to_numpy(dtype="float64", copy=True)
    good = np.isfinite(rates) & (rates > 0) | flat.isin(_NOT_QUOTED).to_numpy()
    bad = np.flatnonzero(~good)
    if len(bad):
        row, column = divmod(int(bad[0]), len(header))
        why = f"the {header[column]} rate {cells[row, column]!r} is not a positive number."
        raise SourceError(source, why, row=row + 1, day=date.fromisoformat(days[row]))
    return rates.reshape(cells.shape)


def _date(day: np.datetime64) -> date:
    return date.fromisoformat(str(day))
