"""Stores partitioned pandas tables, one Parquet file per partition key.

How a file gets into its place whole is in `files.py`; what is computed is the assets' business.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field
from upath import UPath

from workday_assets.errors import (
    InvalidInputError,
    MissingPartitionError,
    UnexpectedRowsError,
    UnreadablePartitionError,
)
from workday_assets.storage.files import get_files, put_files
from workday_assets.storage.partition_metadata import add_partition_metadata

_THREADS = 8
_SCHEMA = "dagster/column_schema"
_COLUMN = "partition_column"
_ALLOW_MISSING = "allow_missing_partitions"
#: Key in the `attrs` of a loaded input: the partition keys that are not stored.
MISSING = "missing_partitions"
#: Key in the `attrs` of an output: the partition keys that it is about, where not all of the run's.
MADE = "made_partitions"
#: Metadata of every materialization: its file's number of rows and the SHA-256 of its bytes.
FILE = "workday/file"


class ParquetIOManager(dg.ConfigurableIOManager):
    """One file per partition key: ``<base_path>/<asset key, one folder a part>/<key>.parquet``.

    An asset returns one `pandas.DataFrame` for all keys of its run, whether one or thousands; each
    row goes to the file of the key that its partition column names, a key without rows gets a file
    without rows. An input is one table of all its keys' rows, in key order. The index is not
    stored. Dates without a time of day are stored as Parquet dates and load as `datetime64[ms]`.

    An output that names some of the run's keys in ``attrs["made_partitions"]`` is about those
    alone: the others get no file, and are not recorded as materialized.

    Every materialization records its own file in the metadata ``workday/file``: the number of rows
    and the SHA-256 of the bytes.

    Input metadata that it reads (``dg.AssetIn(metadata=...)``):
        ``allow_missing_partitions``: when true, keys without a file are left out of the table, and
            are listed in its ``attrs["missing_partitions"]``.

    Asset metadata that it reads:
        ``partition_column``: the column whose dates are the keys, for weeks and months the first
            date of the period; by default ``date``.
        ``dagster/column_schema``: a `dagster.TableSchema` with PyArrow's type names (``date32``,
            ``string``, ``float64``). Where it is given, output must have these columns, and every
            file has these types. An input with no keys is an empty table of these types.
    """

    base_path: str = Field(description="Folder, or an fsspec URL such as s3://bucket/folder.")

    def handle_output(self, context: dg.OutputContext, obj: pd.DataFrame) -> None:
        """Write the rows of each partition key of the run to that key's file.

        Raises:
            InvalidInputError: `obj` is no DataFrame, or its columns are not the declared ones.
            UnexpectedRowsError: there are rows of a key that was not asked for; nothing is written.
        """
        asset = context.asset_key.to_user_string()
        if not context.has_asset_partitions:
            raise InvalidInputError(_unpartitioned(asset))
        if not isinstance(obj, pd.DataFrame):
            raise InvalidInputError(
                f"asset {asset} returned {type(obj).__name__}; return a pandas.DataFrame."
            )
        keys = _made(context, obj)
        paths = self._paths(context.asset_key, keys)
        column: str = context.definition_metadata.get(_COLUMN, "date")
        _require_columns(asset, obj, [column])
        position = _positions(asset, obj[column], context.asset_partitions_def, paths)
        table = _table(asset, obj, column, _declared(context.definition_metadata))
        ordered = table.take(np.argsort(position, kind="stable"))
        counts = np.bincount(position, minlength=len(keys))
        starts = np.cumsum(counts) - counts
        recorded: dict[str, dict[str, Any]] = {}

        def content(at: int) -> pa.Buffer:
            serialized = _serialize(ordered.slice(starts[at], counts[at]))
            recorded[keys[at]] = {FILE: dg.MetadataValue.json(_file(serialized, int(counts[at])))}
            return serialized

        names = [path.name for path in paths.values()]
        put_files(self.folder(context.asset_key), names, content, _THREADS)
        if context._step_context is not None:  # there is none outside a run
            add_partition_metadata(context.step_context, context.asset_key, recorded)
        where = paths[keys[0]] if len(keys) == 1 else self.folder(context.asset_key)
        context.add_output_metadata(
            {"path": dg.MetadataValue.path(str(where)), "rows": len(obj), "files": len(keys)}
        )

    def load_input(self, context: dg.InputContext) -> pd.DataFrame:
        """The rows of all partition keys of the input, by time or else by the keys' text.

        Raises:
            MissingPartitionError: a key has no file, and the input does not allow that.
            UnreadablePartitionError: a file is not Parquet.
            InvalidInputError: there are no keys, and the upstream asset declares no schema.
        """
        asset = context.asset_key.to_user_string()
        if not context.has_asset_partitions:
            raise InvalidInputError(_unpartitioned(asset))
        keys = list(context.asset_partition_keys)
        if not isinstance(context.asset_partitions_def, dg.TimeWindowPartitionsDefinition):
            keys.sort()  # Dagster gives them in no order
        paths = self._paths(context.asset_key, keys)
        lenient = context.definition_metadata.get(_ALLOW_MISSING, False)
        missing, found = [], []
        contents = get_files(list(paths.values()), _THREADS)
        for (key, path), content in zip(paths.items(), contents, strict=True):
            if lenient and isinstance(content, FileNotFoundError):
                missing.append(key)
            else:
                found.append(_parse(asset, key, path, content))
        if found:
            loaded = pa.concat_tables(found, promote_options="permissive")
        else:
            loaded = _empty(asset, context)
        frame: pd.DataFrame = loaded.to_pandas(date_as_object=False)
        if lenient:
            frame.attrs[MISSING] = missing
        return frame

    def _paths(self, asset_key: dg.AssetKey, keys: Sequence[str]) -> dict[str, UPath]:
        for part in (*asset_key.path, *keys):
            _require_plain(asset_key.to_user_string(), part)
        folder = self.folder(asset_key)
        return {key: folder / f"{key}.parquet" for key in keys}

    def folder(self, asset_key: dg.AssetKey) -> UPath:
        """Where the files of an asset are."""
        return UPath(self.base_path).joinpath(*asset_key.path)


def _made(context: dg.OutputContext, obj: pd.DataFrame) -> list[str]:
    """The keys that an output is about; Dagster is told when they are not all of the run's."""
    asked = list(context.asset_partition_keys)
    named = obj.attrs.get(MADE)
    if named is None or named == asked:
        return asked
    made = [key for key in asked if key in set(named)]
    if len(made) != len(named) or not made:
        asset = context.asset_key.to_user_string()
        raise InvalidInputError(
            f"asset {asset}: attrs[{MADE!r}]={named} are not partitions of this run; name some of"
            " its keys, and yield no output when there are none."
        )
    # Dagster records what this says as materialized; it has no public way to say less.
    context._asset_partitions_subset = context.asset_partitions_def.subset_with_partition_keys(made)
    return made


def _require_plain(asset: str, part: str) -> None:
    """A part that is not the name of one file or folder could lead out of the base folder."""
    if part in ("", ".", "..") or not set("/\\\0").isdisjoint(part):
        raise InvalidInputError(
            f"asset {asset}: {part!r} cannot name a file or folder below base_path; use asset and"
            " partition keys without separators and without '..'."
        )


def _positions(
    asset: str,
    column: "pd.Series[Any]",
    partitions_def: dg.PartitionsDefinition[Any],
    paths: Mapping[str, UPath],
) -> npt.NDArray[np.intp]:
    """For each row, the position of its key in `paths`."""
    codes, dates = pd.factorize(column)
    if (codes < 0).any():
        raise InvalidInputError(f"asset {asset}: rows without a {column.name} have no partition.")
    if isinstance(partitions_def, dg.TimeWindowPartitionsDefinition):
        found = list(_dates(asset, dates).strftime(partitions_def.fmt))
    else:
        found = [str(value) for value in dates]
    for key in sorted(set(found) - paths.keys()):
        _require_plain(asset, key)
        path = next(iter(paths.values())).with_name(f"{key}.parquet")
        why = f"the output has {int(np.isin(codes, found.index(key)).sum())} rows of a partition"
        raise UnexpectedRowsError(asset, key, path, f"{why} that the run was not asked for")
    at = {key: position for position, key in enumerate(paths)}
    return np.array([at[key] for key in found], dtype=np.intp)[codes]


def _dates(asset: str, values: "pd.Index[Any]") -> pd.DatetimeIndex:
    try:
        dates = pd.DatetimeIndex(values)
    except (TypeError, ValueError) as error:
        why = f"asset {asset}: the partition column does not hold dates ({error})."
        raise InvalidInputError(why) from error
    if dates.tz is not None or not dates.equals(dates.normalize()):
        raise InvalidInputError(
            f"asset {asset}: the partition column holds a zone or a time of day; give dates alone,"
            " as naive midnights."
        )
    return dates


def _declared(metadata: Mapping[str, Any]) -> pa.Schema | None:
    declared = metadata.get(_SCHEMA)
    if isinstance(declared, dg.TableSchemaMetadataValue):
        declared = declared.schema
    if not isinstance(declared, dg.TableSchema):
        return None
    return pa.schema([(c.name, pa.type_for_alias(c.type)) for c in declared.columns])


def _table(asset: str, frame: pd.DataFrame, column: str, schema: pa.Schema | None) -> pa.Table:
    if schema is not None:
        _require_columns(asset, frame, schema.names)
        unknown = [name for name in frame.columns if name not in schema.names]
        if unknown:
            raise InvalidInputError(
                f"asset {asset}: the output has columns {unknown} that its {_SCHEMA} does not name."
            )
    bare = frame.copy(deep=False)
    bare.attrs = {}  # PyArrow would write them into every file
    try:
        table = pa.Table.from_pandas(bare, schema=schema, preserve_index=False)
        at = table.schema.get_field_index(column)
        if pa.types.is_timestamp(table.schema.field(at).type):
            table = table.set_column(at, column, table.column(at).cast(pa.date32()))
    except (pa.ArrowException, ValueError) as error:
        raise InvalidInputError(
            f"asset {asset}: a column of the output does not fit its type ({error})."
        ) from error
    return table


def _require_columns(asset: str, frame: pd.DataFrame, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InvalidInputError(
            f"asset {asset}: the output lacks columns {missing}; it has {list(frame.columns)}."
        )


def _serialize(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue()


def _file(content: pa.Buffer, rows: int) -> dict[str, Any]:
    """What a materialization records of its file, so that an audit can prove the two belong."""
    return {"rows": rows, "sha256": hashlib.sha256(content).hexdigest()}


def _parse(asset: str, key: str, path: UPath, content: bytes | OSError) -> pa.Table:
    try:
        if isinstance(content, OSError):
            raise content
        return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
    except FileNotFoundError as error:
        why = "it is needed and not stored; materialize it first"
        raise MissingPartitionError(asset, key, path, why) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last of a damaged name
        why = f"its file cannot be read as Parquet; materialize it again ({error})"
        raise UnreadablePartitionError(asset, key, path, why) from error


def _empty(asset: str, context: dg.InputContext) -> pa.Table:
    upstream = context.upstream_output
    schema = _declared(upstream.definition_metadata) if upstream is not None else None
    if schema is None:
        raise InvalidInputError(
            f"asset {asset}: no stored partition is asked for, so its columns are unknown; give the"
            f" asset metadata {_SCHEMA} (a dagster.TableSchema)."
        )
    return schema.empty_table()


def _unpartitioned(asset: str) -> str:
    return (
        f"asset {asset} has no partitions, and ParquetIOManager stores one file per partition key;"
        " give it another I/O manager."
    )
