"""What an event log says to every question that its public read methods allow.

Two event logs in which the same things happened must give equal answers. Before they are compared,
only what differs from one execution to the next is replaced: points in time and durations (the
same run takes another time), run ids (drawn at random; a run is called after the order in which
runs were made), the random names of compute logs, and the number of an asset's row, which counts
all attempts to write to the table. The numbers of events are compared as they are: both logs start
to count at one.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from typing import Any

import dagster as dg
from dagster._core.definitions.partitions.subset import PartitionsSubset
from dagster._core.event_api import PartitionKeyFilter
from dagster._core.loader import LoadingContextForTest
from dagster._core.storage.event_log.base import EventLogStorage
from dagster._core.storage.partition_status_cache import get_partition_subsets
from dagster._core.utils import make_new_run_id
from dagster._record import as_dict, is_record
from dagster_postgres.event_log import PostgresEventLogStorage

#: Public methods that write, make or manage; the scenarios call those that matter to a user.
NOT_READ = {
    *("store_event", "store_event_batch", "store_asset_event", "store_asset_event_tags"),
    *("store_asset_check_event", "update_event_log_record", "update_asset_cached_status_data"),
    *("delete_events", "delete_events_for_run", "wipe", "wipe_asset", "wipe_asset_partitions"),
    *("wipe_asset_cached_status", "add_dynamic_partitions", "delete_dynamic_partition"),
    *("initialize_concurrency_limit_to_default", "set_concurrency_slots"),
    *("delete_concurrency_limit", "claim_concurrency_slot", "free_concurrency_slots_for_run"),
    *("free_concurrency_slot_for_step", "add_pending_step", "assign_pending_steps"),
    *("prepare_insert_event", "prepare_insert_event_batch", "index_connection"),
    *("index_transaction", "run_connection", "config_type", "from_config_value", "inst_data"),
    *("create_clean_storage", "register_instance", "has_instance", "dispose", "upgrade"),
    *("optimize_for_webserver", "reindex_assets", "reindex_events", "enable_secondary_index"),
    *("watch", "end_watch"),
}

TYPES = (
    dg.DagsterEventType.ASSET_MATERIALIZATION,
    dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
    dg.DagsterEventType.ASSET_OBSERVATION,
)


class World:
    """An instance, and what can be asked about in it.

    Args:
        instance: where.
        assets: partitions definitions by asset.
        checks: partitions definitions by check.
        partitions: partitions that are asked for.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        assets: Mapping[dg.AssetKey, dg.PartitionsDefinition | None],
        checks: Mapping[dg.AssetCheckKey, dg.PartitionsDefinition | None],
        partitions: list[str],
    ) -> None:
        self.instance = instance
        self.storage: EventLogStorage = instance.event_log_storage
        self.assets, self.checks, self.partitions = assets, checks, partitions
        self._runs: list[str] = []

    @property
    def runs(self) -> list[str]:
        """The ids of the runs, those deleted since this was read included, and one of no run."""
        for run in reversed(self.instance.get_runs()):
            if run.run_id not in self._runs:
                self._runs.append(run.run_id)
        return [*self._runs, _NO_RUN]

    def forget(self) -> None:
        """Forget the runs."""
        self._runs.clear()

    @property
    def middle(self) -> int:
        """A number in the middle of the events."""
        return (self.storage.get_maximum_record_id() or 0) // 2


_NO_RUN = make_new_run_id()


def public_names() -> set[str]:
    """The public methods and properties of Dagster's storage on Postgres."""
    return {name for name, _ in inspect.getmembers_static(PostgresEventLogStorage)} - {
        name for name in dir(PostgresEventLogStorage) if name.startswith("_")
    }


def answers(world: World) -> dict[str, Any]:
    """The answers by method, and by argument where a method is asked more than once."""
    names = {run_id: f"run {n}" for n, run_id in enumerate(world.runs)}
    found = {}
    for name, ask in READERS.items():
        answer = ask(world, getattr(world.storage, name, None))
        found[name] = _plain(answer, names)
    return found


def first_difference(ours: Any, stock: Any, path: str = "") -> str | None:
    """Where two answers differ first, and how; `None` where they are equal."""
    if ours == stock:
        return None
    if isinstance(ours, dict) and isinstance(stock, dict) and ours.keys() == stock.keys():
        inside = [(f"{path}.{key}", ours[key], stock[key]) for key in ours]
    elif isinstance(ours, list) and isinstance(stock, list) and len(ours) == len(stock):
        inside = [(f"{path}[{n}]", *pair) for n, pair in enumerate(zip(ours, stock, strict=True))]
    else:
        return f"{path}: {ours!r}, not {stock!r}"
    return next(
        found for where in inside if (found := first_difference(where[1], where[2], where[0]))
    )


def _plain(value: Any, names: Mapping[str, str]) -> Any:
    """The value in plain types, without what differs from one execution to the next."""
    value = _opened(value)
    if isinstance(value, Mapping):
        value = {key: _FIELDS.get(key, each) for key, each in value.items()}
        if value.get("") == "AssetRecord":
            value["storage_id"] = "<row>"
        pairs = [(_plain(key, names), _plain(each, names)) for key, each in value.items()]
        return {key if isinstance(key, str) else repr(key): each for key, each in pairs}
    if isinstance(value, list):
        return [_plain(each, names) for each in value]
    if isinstance(value, datetime) or (isinstance(value, float) and value > 1e9):
        return "<time>"
    if isinstance(value, str):
        for run_id, run in names.items():
            value = value.replace(run_id, run)
        return _DURATION.sub("<time>", value)
    return value


def _opened(value: Any) -> Any:
    """An object as the values of its fields under its type's name; a collection as a list."""
    if isinstance(value, PartitionsSubset):
        return sorted(value.get_partition_keys())
    if is_record(value):
        return {"": type(value).__name__, **as_dict(value)}
    if hasattr(value, "_asdict"):
        return {"": type(value).__name__, **value._asdict()}
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, str) and value.startswith('{"__class__"'):  # a serialized event
        return json.loads(value)
    if hasattr(value, "__dict__") and not isinstance(value, (Enum, Mapping)):
        return {"": type(value).__name__, **vars(value)}
    return value


_FIELDS = {"duration_ms": "<time>", "file_key": "<random>", "log_key": "<random>"}
_DURATION = re.compile(r"\b\d+(\.\d+)?m?s\b")  # in messages


def _attempt(ask: Callable[[], Any]) -> Any:
    """The answer, or the kind of error."""
    try:
        return ask()
    except (NotImplementedError, dg.DagsterInvariantViolationError) as error:
        return type(error).__name__


def _each_asset(*args: Any, **kwargs: Any) -> Callable[[World, Any], Any]:
    return lambda w, m: {key.to_string(): m(key, *args, **kwargs) for key in w.assets}


def _each_run(w: World, m: Any) -> Any:
    return {run_id: m(run_id) for run_id in w.runs}


def _plainly(_w: World, m: Any) -> Any:
    return m()


def _property(_w: World, m: Any) -> Any:
    return m


def _with(*arguments: tuple[Any, ...]) -> Callable[[World, Any], Any]:
    return lambda _w, m: [m(*each) for each in arguments]


def _pages(page: Callable[[str | None], Any]) -> list[Any]:
    """Page after page of two, up to the end."""
    found, cursor = [], None
    for _ in range(200):
        found.append(page(cursor))
        if not found[-1].has_more:
            return found
        cursor = found[-1].cursor
    raise AssertionError("there is no last page")


def _fetch(w: World, m: Any) -> Any:
    return {
        key.to_string(): [
            *[
                _pages(lambda cursor, up=up, key=key: m(key, 2, cursor=cursor, ascending=up))
                for up in (True, False)
            ],
            m(dg.AssetRecordsFilter(key, asset_partitions=w.partitions[1:3]), 100),
            m(dg.AssetRecordsFilter(key, after_storage_id=w.middle), 100),
            m(dg.AssetRecordsFilter(key, before_storage_id=w.middle), 100),
        ]
        for key in w.assets
    }


def _run_status_changes(_w: World, m: Any) -> Any:
    kinds = (dg.DagsterEventType.RUN_SUCCESS, dg.DagsterEventType.RUN_FAILURE)
    return [_pages(lambda cursor, kind=kind: m(kind, 2, cursor=cursor)) for kind in kinds]


def _event_records(w: World, m: Any) -> Any:
    return [
        m(dg.EventRecordsFilter(kind, key, **more), limit=limit, ascending=up)
        for kind in TYPES
        for key in w.assets
        for more in (
            {},
            {"asset_partitions": w.partitions[:2]},
            {"after_cursor": w.middle},
            {"before_cursor": w.middle},
        )
        for limit, up in ((None, True), (3, False))
    ]


def _records_for_run(w: World, m: Any) -> Any:
    return {
        run_id: [
            *[
                _pages(lambda c, r=run_id, up=up: m(r, cursor=c, limit=3, ascending=up))
                for up in (True, False)
            ],
            m(run_id, of_type=set(TYPES)),
        ]
        for run_id in w.runs
    }


def _of_types(w: World, m: Any) -> Any:
    return {run_id: [m(run_id), *[m(run_id, kind) for kind in TYPES]] for run_id in w.runs}


def _logs_for_run(w: World, m: Any) -> Any:
    return {run_id: [m(run_id), m(run_id, limit=4, ascending=False)] for run_id in w.runs}


def _by_partition(*args: Any) -> Callable[[World, Any], Any]:
    return lambda w, m: [
        m(key, kind, *args, **more)
        for key in w.assets
        for kind in TYPES
        for more in ({}, {"after_cursor": w.middle})
    ]


def _summaries(w: World, m: Any) -> Any:
    return [m(kind, key, limit=limit) for kind in TYPES for key in w.assets for limit in (None, 2)]


def _event_tags(w: World, m: Any) -> Any:
    ids = range(0, w.middle * 2 + 3, 5)
    return {
        key.to_string(): [
            m(key),
            m(key, filter_tags={"dagster/data_version": "two"}),
            *[m(key, filter_event_id=n) for n in ids],
        ]
        for key in w.assets
    }


def _check_history(w: World, m: Any) -> Any:
    return [
        m(key, limit=limit, partition_filter=only)
        for key in w.checks
        for limit in (1, 100)
        for only in (None, *[PartitionKeyFilter(key=each) for each in (None, *w.partitions)])
    ]


def _latest_checks(w: World, m: Any) -> Any:
    return [
        m(list(w.checks), partition_filter=only)
        for only in (None, *[PartitionKeyFilter(key=each) for each in (None, *w.partitions)])
    ]


def _context(w: World) -> LoadingContextForTest:
    return LoadingContextForTest(w.instance)


def _statuses(w: World, _m: Any) -> Any:
    """Materialized, failed and in-progress partitions, as the web server asks for them."""
    return {
        key.to_string(): asyncio.run(
            get_partition_subsets(w.instance, _context(w), key, w.instance, partitions)
        )
        for key, partitions in w.assets.items()
    }


def _table_data(w: World, m: Any) -> Any:
    return [m(run_id, n) for run_id in w.runs for n in range(0, w.middle * 2 + 3, 7)]


READERS: dict[str, Callable[[World, Any], Any]] = {
    "all_asset_keys": _plainly,
    "alembic_version": _plainly,
    "asset_records_have_last_observation": _property,
    "asset_records_have_last_planned_and_failed_materializations": _property,
    "can_claim_from_pending": lambda w, m: m("pool", w.runs[0], "first"),
    "can_read_asset_status_cache": _plainly,
    "can_store_asset_failure_events": _property,
    "can_write_asset_status_cache": _plainly,
    "check_concurrency_claim": lambda w, m: m("pool", w.runs[0], "first"),
    "default_run_scoped_event_tailer_offset": _plainly,
    "fetch_failed_materializations": lambda w, m: _attempt(lambda: _fetch(w, m)),
    "fetch_materializations": _fetch,
    "fetch_observations": _fetch,
    "fetch_run_status_changes": _run_status_changes,
    "get_asset_check_execution_history": _check_history,
    "get_asset_check_partition_info": lambda w, m: [
        sorted(m(list(w.checks), **only), key=repr)  # Dagster orders it by nothing
        for only in ({}, {"partition_keys": w.partitions[:2]}, {"after_storage_id": w.middle})
    ],
    "get_asset_check_state": lambda w, m: m(list(w.checks.items())),
    "get_asset_check_summary_records": lambda w, m: m(list(w.checks)),
    "get_asset_event_summary_records": _summaries,
    "get_asset_keys": _with((), (None, 1), (None, 2, '["first"]'), (["f"],)),
    "get_asset_keys_for_run": _of_types,
    "get_asset_partitions_for_run": _of_types,
    "get_asset_records": lambda w, m: [m(list(w.assets)), m(list(w.assets)[:1])],
    "get_asset_status_cache_values": lambda w, m: m(list(w.assets.items()), _context(w)),
    "get_asset_tags_to_index": _with(({"dagster/data_version", "kind"},)),
    "get_checkpointed_asset_check_state": lambda w, m: m(list(w.checks)),
    "get_concurrency_info": _with(("pool",)),
    "get_concurrency_infos": _with((["pool"],)),
    "get_concurrency_keys": _plainly,
    "get_concurrency_run_ids": _plainly,
    "get_dynamic_partitions": _with(("letters",)),
    "get_event_log_table_data": _table_data,
    "get_event_records": _event_records,
    "get_event_tags_for_asset": _event_tags,
    "get_existing_dynamic_partitions": _with(("letters", ["a", "z"])),
    "get_freshness_state_records": lambda w, m: m(list(w.assets)),
    "get_latest_asset_check_execution_by_key": _latest_checks,
    "get_latest_asset_partition_materialization_attempts_without_materializations": (
        lambda w, m: {
            key.to_string(): [m(key), m(key, after_storage_id=w.middle)] for key in w.assets
        }
    ),
    "get_latest_materialization_events": lambda w, m: m(list(w.assets)),
    "get_latest_materialization_storage_ids": lambda w, m: m(list(w.assets)),
    "get_latest_planned_materialization_info": lambda w, m: {
        key.to_string(): [m(key), *[m(key, each) for each in w.partitions]] for key in w.assets
    },
    "get_latest_storage_id_by_partition": _by_partition(),
    "get_latest_tags_by_partition": _by_partition(["dagster/data_version"]),
    "get_logs_for_all_runs_by_log_id": lambda w, m: [
        m(),
        m(after_cursor=w.middle, limit=5),
        m(dagster_event_type=set(TYPES)),
    ],
    "get_logs_for_run": _logs_for_run,
    "get_materialized_partitions": lambda w, m: {
        key.to_string(): [m(key), m(key, before_cursor=w.middle), m(key, after_cursor=w.middle)]
        for key in w.assets
    },
    "get_maximum_record_id": _plainly,
    "get_paginated_dynamic_partitions": _with(("letters", 1, True)),
    "get_pool_config": _plainly,
    "get_pool_limits": _plainly,
    "get_records_for_run": _records_for_run,
    "get_stats_for_run": _each_run,
    "get_step_stats_for_run": _each_run,
    "get_updated_data_version_partitions": lambda w, m: [
        m(key, w.partitions, n) for key in w.assets for n in (0, w.middle)
    ],
    "handles_run_events_in_store_event": _property,
    "has_asset_key": _each_asset(),
    "has_asset_key_col": _with(("tags",), ("nothing",)),
    "has_asset_key_index_cols": _plainly,
    "has_bounded_dynamic_partition_membership_query": _property,
    "has_concurrency_limits_table": _property,
    "has_default_pool_limit_col": _property,
    "has_dynamic_partition": _with(("letters", "a"), ("letters", "z")),
    "has_pending_step": lambda w, m: m("pool", w.runs[0], "first"),
    "has_secondary_index": _with(("asset_key_index_columns",), ("nothing",)),
    "has_table": _with(("event_logs",), ("nothing",)),
    "has_unassigned_slots": _with(("pool",)),
    "is_persistent": _property,
    "is_run_sharded": _property,
    "supports_asset_checks": _property,
    "supports_global_concurrency_limits": _property,
    "supports_partition_subset_in_asset_materialization_planned_events": _property,
    "supports_run_status_change_job_name_filter": _property,
    "partition statuses": _statuses,
}
