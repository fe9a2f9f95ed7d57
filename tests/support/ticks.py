"""Ticks of sensors at chosen instants, and the runs that they ask for, in this process."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import dagster as dg
import pendulum
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.sensor_definition import SensorExecutionData

from workday_assets.automation.requests import partition_tags

ZONE = "Europe/Berlin"


def now(text: str) -> datetime:
    """An instant in Berlin."""
    return datetime.fromisoformat(text).replace(tzinfo=pendulum.timezone(ZONE))


def tick(
    defs: dg.Definitions, sensor: str, instance: dg.DagsterInstance, at: str
) -> SensorExecutionData:
    """What a sensor answers at that instant."""
    context = dg.build_sensor_context(
        instance=instance,
        repository_def=defs.get_repository_def(),
        resources=dict(defs.resources or {}),
    )
    with partition_loading_context(now(at)):
        return defs.resolve_sensor_def(sensor).evaluate_tick(context)


def run_keys(data: SensorExecutionData) -> list[str]:
    """The run keys that a tick asks for."""
    return [request.run_key or "" for request in data.run_requests or []]


def execute(
    defs: dg.Definitions,
    instance: dg.DagsterInstance,
    assets: list[str],
    first: str,
    last: str | None = None,
    *,
    tags: dict[str, str] | None = None,
    at: str = "2026-12-31T12:00",
    **options: Any,
) -> dg.ExecuteInProcessResult:
    """One run over the partitions `first` to `last`, both included."""
    single = last is None or last == first
    with partition_loading_context(now(at)):
        return dg.materialize(
            list(defs.assets or ()),  # type: ignore[arg-type]
            selection=assets,
            instance=instance,
            resources=dict(defs.resources or {}),
            partition_key=first if single else None,
            tags={**({} if single else partition_tags(first, last or first)), **(tags or {})},
            raise_on_error=False,
            **options,
        )


def run_until_idle(
    defs: dg.Definitions, sensors: list[str], instance: dg.DagsterInstance, at: str
) -> Iterator[tuple[str, str]]:
    """Tick, execute what is asked for, and again; the (asset, partition key) pairs materialized.

    A tick of every sensor comes before the first of their runs.
    """
    for _ in range(12):
        requests = [
            r for name in sensors for r in tick(defs, name, instance, at).run_requests or []
        ]
        if not requests:
            return
        for request in requests:
            assets = [key.to_user_string() for key in request.asset_selection or []]
            tags = {str(k): str(v) for k, v in request.tags.items()}
            tags["dagster/run_key"] = request.run_key or ""
            first = tags.pop("dagster/asset_partition_range_start", request.partition_key) or ""
            last = tags.pop("dagster/asset_partition_range_end", request.partition_key)
            result = execute(defs, instance, assets, first, last, tags=tags, at=at)
            for event in result.get_asset_materialization_events():
                assert event.asset_key is not None
                yield event.asset_key.to_user_string(), str(event.partition)
    raise AssertionError("it still asks for runs after twelve ticks")
