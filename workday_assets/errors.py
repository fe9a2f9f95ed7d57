"""The errors this package raises on purpose; each is also a `ValueError` or a `LookupError`.

A message is one sentence with four facts, parameter, value, calendar (or file) and why, and
names the cure where there is one.
"""

from __future__ import annotations

from datetime import date


class WorkdayAssetsError(Exception):
    """Base of every error that this package raises on purpose."""


class InvalidInputError(WorkdayAssetsError, ValueError):
    """A parameter has a value that can never be right, whatever the calendar."""


class ClosedDayError(WorkdayAssetsError, ValueError):
    """A workday was needed and `day` is closed.

    Attributes:
        day: the closed date.
        calendar: name of the calendar that closes it.
        reason: why it is closed, for example ``Christmas Day``.
        previous: the workday before it, or `None` where the calendar's bounds end first.
        next: the workday after it, or `None` likewise.
    """

    def __init__(
        self,
        parameter: str,
        day: date,
        calendar: str,
        reason: str,
        previous: date | None,
        next: date | None,
    ) -> None:
        self.parameter = parameter
        self.day = day
        self.calendar = calendar
        self.reason = reason
        self.previous = previous
        self.next = next
        neighbours = " and ".join(str(d) for d in (previous, next) if d is not None)
        cure = f"the nearest workdays are {neighbours}" if neighbours else "it has no neighbour"
        super().__init__(f"{parameter}={day} is closed in {calendar} ({reason}); {cure}.")


class OutOfBoundsError(WorkdayAssetsError, LookupError):
    """A date lies outside the dates for which a calendar vouches.

    Attributes:
        day: the date that was asked for.
        calendar: name of the calendar.
        first_date: first date for which it vouches, included.
        last_date: last date for which it vouches, included.
    """

    def __init__(
        self, parameter: str, day: object, calendar: str, first_date: date, last_date: date
    ) -> None:
        self.parameter = parameter
        self.day = day
        self.calendar = calendar
        self.first_date = first_date
        self.last_date = last_date
        super().__init__(
            f"{parameter}={day} is outside calendar {calendar}, which vouches for {first_date} to"
            f" {last_date} (both included); ask inside these bounds, or freeze a calendar with"
            " wider ones (workday-assets freeze)."
        )


class UnknownCalendarError(WorkdayAssetsError, LookupError):
    """No frozen file and no provider knows a calendar of that name."""


class CalendarFileError(WorkdayAssetsError, ValueError):
    """A calendar file cannot be read as what it says it is.

    Attributes:
        path: the file, as it was given.
        line: line number counted from 1, or `None` when the fault is of the whole file.
    """

    def __init__(self, path: object, why: str, line: int | None = None) -> None:
        self.path = path
        self.line = line
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {why}")


class ProviderError(WorkdayAssetsError, ValueError):
    """A calendar library is missing, or gives an answer that must not be trusted."""


class SourceError(WorkdayAssetsError, ValueError):
    """A data source is not what it should be: the file, and where known the row and the date.

    Attributes:
        source: the file or address, without credentials.
        row: data row counted from 1 (the header is not counted), or `None`.
        day: the date of that row, or `None`.
    """

    def __init__(
        self, source: object, why: str, row: int | None = None, day: date | None = None
    ) -> None:
        self.source = source
        self.row = row
        self.day = day
        where = f"{source}"
        if row is not None:
            where += f", row {row}"
        if day is not None:
            where += f", {day}"
        super().__init__(f"{where}: {why}")


class SourceUnavailableError(SourceError):
    """The source could not be read at all: no file, no answer, too large, not allowed."""


class StoredPartitionError(WorkdayAssetsError):
    """Something is wrong with the stored file of a partition.

    Attributes:
        asset: asset key, slash-separated.
        partition_key: the partition.
        path: where its file is, or would be.
    """

    def __init__(self, asset: str, partition_key: str, path: object, why: str) -> None:
        self.asset = asset
        self.partition_key = partition_key
        self.path = path
        super().__init__(f"asset {asset}, partition {partition_key}: {why} ({path}).")


class MissingPartitionError(StoredPartitionError, LookupError):
    """A stored partition was needed and is not there."""


class UnexpectedRowsError(StoredPartitionError, ValueError):
    """An output holds rows of a partition that was not asked for."""


class SourceOverdueError(WorkdayAssetsError, LookupError):
    """A source has not published a day so long after it that somebody should look.

    Attributes:
        days: the overdue days that were not told before, oldest first.
    """

    def __init__(self, sensor: str, days: list[date], timeout: int, source: str) -> None:
        self.days = days
        names = ", ".join(map(str, days))
        super().__init__(
            f"sensor {sensor}: {names} not published within {timeout} workdays by the source"
            f" ({source}); look there. Other days go on, and this is told once."
        )


class InstanceError(WorkdayAssetsError, ValueError):
    """The instance's state (folder, database server, configuration) cannot be used as it is."""


class UnreadablePartitionError(StoredPartitionError, ValueError):
    """A stored partition is there and cannot be read."""


class AlertNotSentError(WorkdayAssetsError, ValueError):
    """A message to people could not be sent; it is kept and tried again.

    Attributes:
        title: of the message.
    """

    def __init__(self, title: str, why: object) -> None:
        self.title = title
        super().__init__(f"alert {title!r} was not sent ({why}); the next tick tries again.")
