"""The ECB's own file, read with the standard library only: the witness for what we make of it."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import date
from importlib.resources import files


def read_history() -> dict[date, dict[str, float]]:
    """Rates by date, oldest first, then by currency; only what is quoted."""
    path = files("currency_converter") / "eurofxref-hist.zip"
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        text = archive.read(archive.namelist()[0]).decode("utf-8")
    rows = list(csv.reader(io.StringIO(text)))
    currencies = rows[0][1:]
    history = {
        date.fromisoformat(row[0]): {
            currency: float(value)
            for currency, value in zip(currencies, row[1:], strict=True)
            if currency and value not in ("", "N/A")
        }
        for row in rows[1:]
    }
    return dict(sorted(history.items()))
