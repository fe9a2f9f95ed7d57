"""Puts whole files in place, on this machine or in an object store, and gets them.

A reader sees the old content or the new content of a file, never a part: locally a temporary file
in the same folder is synced and renamed, elsewhere one request stores the content.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from upath import UPath

Content = Any  # bytes, or what has the buffer protocol, such as `pyarrow.Buffer`


def put_files(
    folder: UPath, names: Sequence[str], content: Callable[[int], Content], threads: int
) -> None:
    """Store files in `folder`, several at a time; on return they are durable.

    A process killed on the way leaves some files stored, whole, and perhaps temporary files, named
    ``.<name>.<random>.tmp``, which nothing reads.

    Args:
        folder: where; it is made if it is not there.
        names: one per file.
        content: the content of the file with a position in `names`; called in the threads.
        threads: how many at a time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    local = _local(folder)

    def put(at: int) -> None:
        if local is None:
            path = folder / names[at]
            path.fs.pipe_file(path.path, bytes(content(at)))
        else:
            _replace(local / names[at], content(at))

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(put, range(len(names))):
            pass
    if local is not None:
        _sync(local)


def get_file(path: UPath) -> bytes:
    """The content of a file.

    Raises:
        FileNotFoundError: there is none.
    """
    local = _local(path)
    content: bytes = local.read_bytes() if local is not None else path.fs.cat_file(path.path)
    return content


def _local(path: UPath) -> Path | None:
    return Path(path.path) if path.protocol in ("", "file", "local") else None


def _replace(target: Path, content: Content) -> None:
    with _temporary(target) as temporary:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)  # noqa: PTH105 - the tests stop a process at this call


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    temporary = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Make the renames in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
