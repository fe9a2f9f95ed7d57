"""The files of an asset against its records."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
from upath import UPath

from workday_assets.audit.records import Begin, Record, no_progress
from workday_assets.storage.files import get_files

_SUFFIX = ".parquet"
_THREADS = 8


@dataclass(frozen=True, slots=True)
class FileFault:
    """What is wrong with the file of one partition.

    Attributes:
        key: the partition key, which names the file.
        kind: ``no file`` (recorded, not there), ``no record`` (there, not recorded) or ``damaged``.
        what: what is wrong, as a clause.
    """

    key: str
    kind: Literal["no file", "no record", "damaged"]
    what: str


def stored_keys(folder: UPath) -> set[str]:
    """The keys that have a file in `folder`; none where it does not exist."""
    if not folder.exists():
        return set()
    names = (path.name for path in folder.iterdir())
    return {name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)}


def missing_files(
    folder: UPath, stored: Set[str], records: Mapping[str, Record]
) -> list[FileFault]:
    """The partitions that are recorded and have no file."""
    return [
        FileFault(key, "no file", f"it is recorded, and {folder / (key + _SUFFIX)} is not there")
        for key in sorted(records.keys() - stored)
    ]


def unrecorded_files(folder: UPath, stored: Set[str], known: Set[str]) -> list[FileFault]:
    """The files of partitions that nobody recorded."""
    return [
        FileFault(key, "no record", f"nothing recorded made {folder / (key + _SUFFIX)}")
        for key in sorted(stored - known)
    ]


def damaged_files(
    name: str,
    folder: UPath,
    stored: Set[str],
    records: Mapping[str, Record],
    begin: Begin = no_progress,
) -> list[FileFault]:
    """Read every recorded file whole: it must be Parquet, with the recorded rows and bytes."""
    keys = sorted(records.keys() & stored)
    advance = begin(f"files of {name}", len(keys))
    paths = [folder / f"{key}{_SUFFIX}" for key in keys]
    found = []
    for key, content in zip(keys, get_files(paths, _THREADS), strict=True):
        what = _damage(content, records[key])
        if what is not None:
            found.append(FileFault(key, "damaged", f"{key}{_SUFFIX} {what}"))
        advance(1)
    return found


def _damage(content: bytes | OSError, record: Record) -> str | None:
    """What is wrong with a file, the most telling first."""
    try:
        if isinstance(content, OSError):
            raise content
        rows = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False).num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last of a damaged name
        return f"cannot be read as Parquet ({str(error).splitlines()[0].rstrip('.')})"
    if record.rows is not None and rows != record.rows:
        return f"has {rows} rows, and {record.rows} are recorded"
    if record.sha256 is not None and hashlib.sha256(content).hexdigest() != record.sha256:
        return "does not have the recorded SHA-256: it was changed after its run wrote it"
    return None
