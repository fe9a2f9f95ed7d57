"""Dagster's own daemons at injected times; runs are executed in this process."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from signal import Signals
from typing import Any

import dagster as dg
import pendulum
from dagster._core.instance.ref import InstanceRef
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.remote_representation.external import RemoteSensor
from dagster._core.test_utils import freeze_time
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.run_coordinator import QueuedRunCoordinatorDaemon
from dagster._daemon.sensor import execute_sensor_iteration
from dagster._scheduler.scheduler import launch_scheduled_runs
from dagster_shared.error import SerializableErrorInfo
from outage_definitions import ZONE

_LOGGER = logging.getLogger("outages")
#: A run that leaves the queue is executed at once, in this process.
EXECUTED_HERE = {
    "run_launcher": {
        "module": "dagster._core.launcher.sync_in_memory_run_launcher",
        "class": "SyncInMemoryRunLauncher",
    },
}


def now(text: str) -> datetime:
    """An instant in New York."""
    return datetime.fromisoformat(text).replace(tzinfo=pendulum.timezone(ZONE))


def frozen(at: datetime) -> AbstractContextManager[None]:
    """Within it, Dagster's clock stands still at that instant."""
    return freeze_time(at.astimezone(UTC))


class Daemon:
    """The daemons of an instance, over one set of the definitions."""

    def __init__(self, instance: dg.DagsterInstance, workspace: WorkspaceProcessContext) -> None:
        self.instance = instance
        self.workspace = workspace

    def tick(
        self, at: datetime, crash: Mapping[str, Mapping[str, Signals]] | None = None
    ) -> list[str]:
        """Sensors tick one after another, then their runs are executed; the new run keys."""
        with frozen(at), self._new_run_keys() as keys:
            _raise_errors(
                execute_sensor_iteration(
                    self.workspace, _LOGGER, None, None, debug_crash_flags=crash
                )
            )
            self._execute_queue()
        return keys

    def schedule_tick(self, at: datetime) -> list[str]:
        """Schedules tick, then their runs are executed; the new run keys."""
        with frozen(at), self._new_run_keys() as keys:
            _raise_errors(launch_scheduled_runs(self.workspace, _LOGGER, at.astimezone(UTC), {}))
            self._execute_queue()
        return keys

    def tick_all_at_once(self, at: datetime) -> list[str]:
        """Sensors and schedules tick in threads, then all runs are executed; the new run keys."""
        with frozen(at), self._new_run_keys() as keys:
            ticks: dict[str, Future[Any]] = {}
            scheduled: dict[str, Future[Any]] = {}
            with ThreadPoolExecutor(2) as sensors, ThreadPoolExecutor(1) as schedules:
                _raise_errors(
                    execute_sensor_iteration(self.workspace, _LOGGER, sensors, None, ticks)
                )
                _raise_errors(
                    launch_scheduled_runs(
                        self.workspace,
                        _LOGGER,
                        at.astimezone(UTC),
                        {},
                        threadpool_executor=schedules,
                        scheduler_run_futures=scheduled,
                    )
                )
            for future in ticks.values():
                _raise_errors(future.result())
            for future in scheduled.values():
                future.result()
            self._execute_queue()
        return keys

    def ticks(self, first: str, last: str, every: timedelta) -> list[str]:
        """Sensor ticks from `first` to `last`, both included; the new run keys."""
        keys = []
        at = now(first)
        while at <= now(last):
            keys += self.tick(at)
            at += every
        return keys

    def settle(self, at: str) -> list[str]:
        """Sensor ticks from `at` on, a minute apart, until one launches nothing; the run keys."""
        launched: list[str] = []
        for minute in range(10):
            new = self.tick(now(at) + timedelta(minutes=minute))
            if not new:
                return launched
            launched += new
        raise AssertionError(f"ten ticks in a row launched runs: {launched}")

    def sensor(self, name: str) -> RemoteSensor:
        """A sensor as the web server sees it."""
        location = self.workspace.create_request_context().get_code_location("outages")
        return next(iter(location.get_repositories().values())).get_sensor(name)

    def _execute_queue(self) -> None:
        dequeue = QueuedRunCoordinatorDaemon(interval_seconds=1)
        queued = dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED])
        while self.instance.get_runs_count(queued):
            _raise_errors(dequeue.run_iteration(self.workspace))

    @contextmanager
    def _new_run_keys(self) -> Iterator[list[str]]:
        before = {run.run_id for run in self.instance.get_runs()}
        keys: list[str] = []
        yield keys
        runs = [run for run in self.instance.get_runs() if run.run_id not in before]
        keys += sorted(run.tags["dagster/run_key"] for run in runs)


def _raise_errors(results: Iterable[SerializableErrorInfo | object]) -> None:
    errors = [result for result in results if isinstance(result, SerializableErrorInfo)]
    assert errors == []


@contextmanager
def daemon_of(instance: dg.DagsterInstance, definitions: str) -> Iterator[Daemon]:
    """The daemon over the attribute `definitions` of `outage_definitions`."""
    origin = InProcessCodeLocationOrigin(
        LoadableTargetOrigin(
            executable_path=sys.executable,
            module_name="outage_definitions",
            working_directory=str(Path(__file__).parent),
            attribute=definitions,
        ),
        location_name="outages",
    )
    target = InProcessWorkspaceLoadTarget(origin)
    with WorkspaceProcessContext(instance, target) as workspace:
        yield Daemon(instance, workspace)


def tick_and_die(reference: InstanceRef, definitions: str, at: datetime, where: str) -> None:
    """Tick once in a process of its own, which is killed at the point `where` of the daemon."""
    with (
        dg.DagsterInstance.from_ref(reference) as instance,
        daemon_of(instance, definitions) as daemon,
    ):
        daemon.tick(at, {"first": {where: Signals.SIGKILL}})
