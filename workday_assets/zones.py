"""Whether this process has the time-zone files that every other process of Dagster should have.

Python takes a machine's own files before the `tzdata` package. Where they differ, a webserver and a
code server on different machines compute different windows, and closed days that are told to
Dagster as instants fall beside the host's midnights: they become partitions.
"""

from __future__ import annotations

import warnings
from datetime import date, datetime
from functools import lru_cache
from importlib import metadata, resources
from zoneinfo import ZoneInfo


class ZoneFilesWarning(UserWarning):
    """The machine's time-zone files and the `tzdata` package disagree."""


def warn_of_other_zone_files(timezone: str, first: date, past: date) -> None:
    """Warn when the machine's files and `tzdata` disagree on a date of ``first <= day < past``.

    Processes that agree with the same version of the package agree with each other.
    """
    found = _first_difference(timezone, first, past)
    if found is not None:
        warnings.warn(
            f"timezone={timezone}: this machine's time-zone files and the tzdata package"
            f" ({metadata.version('tzdata')}) disagree from {found} on, so that the webserver and"
            " the code server can have different partitions; set the variable PYTHONTZPATH to"
            " nothing for every process of Dagster, or update the machine's files.",
            ZoneFilesWarning,
            stacklevel=4,
        )


@lru_cache
def _first_difference(timezone: str, first: date, past: date) -> date | None:
    package = resources.files("tzdata").joinpath("zoneinfo", *timezone.split("/"))
    if not package.is_file():
        return None
    with package.open("rb") as file:
        theirs = ZoneInfo.from_file(file, timezone)
    ours = ZoneInfo(timezone)
    for ordinal in range(first.toordinal(), past.toordinal() + 1):
        midnight = datetime.fromordinal(ordinal)
        if midnight.replace(tzinfo=ours).utcoffset() != midnight.replace(tzinfo=theirs).utcoffset():
            return midnight.date()
    return None
