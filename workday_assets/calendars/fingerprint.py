"""The fingerprint of a calendar's content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date, time

import numpy as np
import numpy.typing as npt

Days = npt.NDArray[np.datetime64]


def fingerprint(first: date, last: date, workdays: Days, half_days: Mapping[date, time]) -> str:
    """SHA-256, in hex, of bounds, workdays and closing times.

    The text that is hashed: both bounds, then every workday, a line each as YYYY-MM-DD, a half day
    followed by a space and HH:MM:SS; no newline at the end.

    Args:
        first: first date of the bounds.
        last: last date of the bounds.
        workdays: ``datetime64[D]``, ascending.
        half_days: closing times of some of them.
    """
    text = _lines(workdays)
    if half_days:
        lines = text.split(b"\n")
        marked = np.array(list(half_days), dtype="datetime64[D]")
        for at, closes in zip(
            np.searchsorted(workdays, marked).tolist(), half_days.values(), strict=True
        ):
            lines[at] += f" {closes.isoformat('seconds')}".encode()
        text = b"\n".join(lines)
    return hashlib.sha256(f"{first}\n{last}\n".encode() + text).hexdigest()


def _lines(days: Days) -> bytes:
    """Dates as YYYY-MM-DD, a line each: `numpy.datetime_as_string` takes ten times as long."""
    months = days.astype("datetime64[M]")
    since_1970 = months.astype(np.int64)
    year, month = 1970 + since_1970 // 12, since_1970 % 12 + 1
    day = (days - months.astype("datetime64[D]")).astype(np.int64) + 1
    text = np.full((len(days), 11), ord("-"), dtype=np.uint8)
    text[:, 10] = ord("\n")
    for start, value, width in ((0, year, 4), (5, month, 2), (8, day, 2)):
        for at in range(width):
            text[:, start + at] = ord("0") + value // 10 ** (width - 1 - at) % 10
    return text.tobytes()[:-1]
