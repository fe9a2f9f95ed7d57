"""Puts whole files in place, on this machine or in an object store, and gets them.

A reader sees the old content or the new content of a file, never a part: locally a temporary file
in the same folder is synced and renamed, elsewhere one request stores the content.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

from upath import UPath

#: So many local files are written before the disk is waited for, and renamed after it.
_BLOCK = 500
Content = Any  # bytes, or what has the buffer protocol, such as `pyarrow.Buffer`


def put_files(
    folder: UPath, names: Sequence[str], content: Callable[[int], Content], threads: int
) -> None:
    """Store files in `folder`; on return they are durable.

    A process killed on the way leaves some files stored, whole, and perhaps temporary files, named
    ``.<name>.<random>.tmp``, which nothing reads.

    Args:
        folder: where; it is made if it is not there.
        names: one per file.
        content: the content of the file with a position in `names`.
        threads: how many requests, or waits for the disk, at a time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    local = _local(folder)
    with ThreadPoolExecutor(threads) as pool:
        if local is None:

            def put(at: int) -> None:
                path = folder / names[at]
                path.fs.pipe_file(path.path, bytes(content(at)))

            _each(pool, put, range(len(names)))
        else:
            for start in range(0, len(names), _BLOCK):
                block = range(start, min(start + _BLOCK, len(names)))
                _replace(pool, [(local / names[at], content(at)) for at in block])
            _sync(local)


def get_files(paths: Sequence[UPath], threads: int) -> Iterator[bytes | OSError]:
    """The content of each file, in order, or why it cannot be had (`FileNotFoundError`: none).

    Args:
        paths: files of one file system.
        threads: how many requests at a time; a local disk is read faster without.
    """
    if paths and _local(paths[0]) is not None:
        yield from map(_get, paths)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(_get, paths)


def _get(path: UPath) -> bytes | OSError:
    try:
        local = _local(path)
        content: bytes = local.read_bytes() if local is not None else path.fs.cat_file(path.path)
    except OSError as error:
        return error
    return content


def _local(path: UPath) -> Path | None:
    return Path(path.path) if path.protocol in ("", "file", "local") else None


def _replace(pool: ThreadPoolExecutor, files: Sequence[tuple[Path, Content]]) -> None:
    """Write all files, then wait for the disk, then rename: the waits of many files overlap."""
    temporaries: list[Path] = []
    try:
        for target, content in files:
            temporaries.append(target.with_name(f".{target.name}.{uuid4().hex}.tmp"))
            temporaries[-1].write_bytes(content)
        _each(pool, _sync, temporaries)
        for temporary, (target, _) in zip(temporaries, files, strict=True):
            os.replace(temporary, target)  # noqa: PTH105 - the tests stop a process at this call
    finally:
        for temporary in temporaries:
            temporary.unlink(missing_ok=True)


def _each(pool: ThreadPoolExecutor, call: Callable[[Any], None], items: Iterable[Any]) -> None:
    for _ in pool.map(call, items):
        pass


def _sync(path: Path) -> None:
    """Make a file, or the renames in a folder, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
