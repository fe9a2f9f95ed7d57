"""What happens in runs is read alike from Dagster's Postgres event log and from ours.

Everything happens twice: on an instance with Dagster's own storage, which writes event by event,
and on ours, in batches. Then every public read method is asked on both.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import contract_project as graph
import dagster as dg
import pytest
import sqlalchemy
from dagster._serdes import serialize_value
from dagster_postgres.event_log import PostgresEventLogStorage
from support.event_log_answers import (
    NOT_READ,
    READERS,
    World,
    answers,
    first_difference,
    public_names,
)
from support.processes import wait_until
from support.projects import VARIABLES, temporary_folder

from workday_assets.storage.event_log import WorkdayEventLogStorage
from workday_assets.storage.server import join_server

Scenario = Callable[[World], None]
Answers = dict[str, Any]

BATCH = "DAGSTER_EVENT_BATCH_SIZE"
KEYS = graph.KEYS
PLANNED = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
MATERIALIZED = dg.DagsterEventType.ASSET_MATERIALIZATION


@pytest.fixture(scope="module")
def state() -> Iterator[Path]:
    """The state root of the server with both databases."""
    with temporary_folder() as root:
        yield root


@pytest.fixture(scope="module")
def worlds(state: Path) -> Iterator[dict[str, World]]:
    """Dagster's storage and ours, each with a database of its own in one server."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in VARIABLES:
            patch.delenv(variable, raising=False)
        patch.setenv("WORKDAY_ASSETS_HOME", str(state))
        patch.setenv(BATCH, "0")
        lease = join_server(state)
        engine = sqlalchemy.create_engine(lease.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql("CREATE DATABASE stock")
        engine.dispose()
        url = sqlalchemy.make_url(lease.url).set(database="stock")
        ours = {"module": "workday_assets.storage.postgres", "class": "WorkdayStorage"}
        with (
            instance({"postgres": {"postgres_url": url.render_as_string()}}) as stock_instance,
            instance({"custom": ours}) as our_instance,
        ):
            assert type(stock_instance.event_log_storage) is PostgresEventLogStorage
            assert type(our_instance.event_log_storage) is WorkdayEventLogStorage
            yield {
                name: World(found, graph.ASSETS, graph.CHECKS, KEYS)
                for name, found in (("stock", stock_instance), ("ours", our_instance))
            }
        lease.close()


@contextmanager
def instance(storage: dict[str, Any]) -> Iterator[dg.DagsterInstance]:
    """An instance with this storage."""
    with dg.instance_for_test(overrides={"storage": storage}) as found:
        # Connections are kept, as by the web server: the methods ask a thousand times.
        found.event_log_storage.optimize_for_webserver(600_000, pool_recycle=-1, max_overflow=10)
        yield found


def run(world: World, job: str = "days", **how: Any) -> str:
    """Execute a run in this process; its id."""
    done = graph.definitions().resolve_job_def(job)
    how.setdefault("tags", graph.ranged())
    return done.execute_in_process(instance=world.instance, raise_on_error=False, **how).run_id


def one_day(world: World) -> None:
    """A run of one day, and one of the asset without partitions."""
    run(world, tags={}, partition_key=KEYS[0])
    run(world, "wholly", tags={})


def a_range(world: World) -> None:
    """A run over five days of three assets."""
    run(world)


def overlapping_ranges(world: World) -> None:
    """Two runs over ranges that overlap."""
    run(world)
    run(world, tags=graph.ranged("2026-01-08", "2026-01-12"))


def a_failing_range(world: World) -> None:
    """A run over five days that fails in the second asset; two days had been made before."""
    run(world, tags=graph.ranged(KEYS[0], KEYS[1]))
    with inside(fail):
        run(world)


def a_retried_range(world: World) -> None:
    """A run that fails in the second asset, and is executed again from there."""
    with inside(fail):
        failed = run(world)
    options = dg.ReexecutionOptions.from_failure(failed, world.instance)
    job = dg.reconstructable(graph.days)
    with dg.execute_job(job, world.instance, tags=graph.ranged(), reexecution_options=options) as r:
        assert r.success


def a_wiped_asset(world: World) -> None:
    """Two of three assets are wiped after a run, and one of them is made again in part."""
    run(world)
    world.instance.wipe_assets([graph.FIRST, graph.THIRD])
    run(world, "one", tags=graph.ranged(KEYS[0], KEYS[1]))


def a_blocked_range(world: World) -> None:
    """A blocking check fails, so that the third asset is not made."""
    graph.gate_passes[0] = False
    try:
        run(world)
    finally:
        graph.gate_passes[0] = True


def a_deleted_run(world: World) -> None:
    """The first of two runs is deleted."""
    gone = run(world)
    run(world, tags=graph.ranged(KEYS[0], KEYS[1]))
    assert gone in world.runs
    world.instance.delete_run(gone)


def observed_days(world: World) -> None:
    """Days are observed without a run; there are dynamic partitions, too."""
    run(world, "one")
    for key in KEYS[:3]:
        observation = dg.AssetObservation(
            graph.FIRST, partition=key, tags={"dagster/data_version": "two"}
        )
        world.instance.report_runless_asset_event(observation)
        world.instance.report_runless_asset_event(dg.AssetMaterialization("whole"))
    world.instance.add_dynamic_partitions("letters", ["a", "b"])


def every_kind_of_event(world: World) -> None:
    """One batch with all kinds of events that can be in a batch."""
    events = list(graph.events("of no run", 1_790_000_000.5))
    world.storage.store_event_batch(events)


SCENARIOS: list[Scenario] = [
    one_day,
    a_range,
    overlapping_ranges,
    a_failing_range,
    a_retried_range,
    a_wiped_asset,
    a_blocked_range,
    a_deleted_run,
    observed_days,
    every_kind_of_event,
]


def fail() -> None:
    """What the second asset does when it is to fail."""
    raise ValueError("second fails")


@contextmanager
def inside(happen: Callable[[], None]) -> Iterator[None]:
    """Let something happen inside the second asset."""
    graph.inside_second.append(happen)
    try:
        yield
    finally:
        graph.inside_second.clear()


def empty(world: World) -> None:
    """Forget everything, and count from one again."""
    world.forget()
    with world.storage.index_connection() as connection:  # type: ignore[attr-defined]
        tables = sqlalchemy.inspect(connection).get_table_names()
        kept = {"alembic_version", "secondary_indexes", "instance_info"}
        names = ", ".join(sorted(set(tables) - kept))
        connection.exec_driver_sql(f"TRUNCATE {names} RESTART IDENTITY")


def both(
    worlds: dict[str, World],
    monkeypatch: pytest.MonkeyPatch,
    batch_size: int,
    scenario: Callable[[World], Answers],
) -> dict[str, Answers]:
    """What a scenario answers on Dagster's storage, event by event, and on ours, in batches."""
    found = {}
    for name, size in (("stock", 0), ("ours", batch_size)):
        monkeypatch.setenv(BATCH, str(size))
        empty(worlds[name])
        found[name] = scenario(worlds[name])
    return found


def assert_alike(found: dict[str, Answers]) -> None:
    """Method by method, so that a failure names the method."""
    assert set(found["ours"]) == set(READERS)
    for method in READERS:
        assert first_difference(found["ours"][method], found["stock"][method], method) is None


def statuses(answer: Answers, asset: str) -> dict[str, list[str]]:
    """The days of an asset as the web server shows them."""
    made, failed, in_progress = answer["partition statuses"][f'["{asset}"]']
    return {"made": made, "failed": failed, "in progress": in_progress}


def test_every_public_method_is_asked_or_named() -> None:
    """A public method that Dagster adds turns this red, until it is asked for its answer."""
    asked = set(READERS) - {"partition statuses"}
    assert public_names() == asked | NOT_READ
    assert not asked & NOT_READ


@pytest.mark.parametrize("batch_size", [3, 1000], ids=["batches of 3", "batches of 1000"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__.replace("_", " "))
def test_answers_are_those_of_dagsters_storage(
    worlds: dict[str, World], monkeypatch: pytest.MonkeyPatch, scenario: Scenario, batch_size: int
) -> None:
    """After a scenario, every method answers the same on both."""

    def ask(world: World) -> Answers:
        scenario(world)
        return answers(world)

    assert_alike(both(worlds, monkeypatch, batch_size, ask))


@pytest.mark.parametrize("batch_size", [3, 1000], ids=["batches of 3", "batches of 1000"])
def test_a_range_in_progress(
    worlds: dict[str, World], monkeypatch: pytest.MonkeyPatch, batch_size: int
) -> None:
    """Asked from inside the second of three assets: the first is made, the others are not yet."""

    def ask(world: World) -> Answers:
        found: list[Answers] = []
        with inside(lambda: found.append(answers(world))):
            run(world)
        return found[0]

    found = both(worlds, monkeypatch, batch_size, ask)
    assert_alike(found)
    nothing: list[str] = []
    waiting = {"made": nothing, "failed": nothing, "in progress": KEYS}
    assert statuses(found["ours"], "first") == {**waiting, "made": KEYS, "in progress": nothing}
    assert statuses(found["ours"], "second") == waiting
    assert statuses(found["ours"], "third") == waiting


def test_a_failed_range_shows_its_failed_days(worlds: dict[str, World]) -> None:
    """The days of the asset that failed, and of the one after it, are red; no other is."""
    world = worlds["ours"]
    empty(world)
    a_failing_range(world)
    answer = answers(world)
    nothing: list[str] = []
    failed = {"made": KEYS[:2], "failed": KEYS, "in progress": nothing}
    assert statuses(answer, "first") == {"made": KEYS, "failed": nothing, "in progress": nothing}
    assert statuses(answer, "second") == failed
    assert statuses(answer, "third") == failed


def test_partitions_can_be_wiped_on_neither(worlds: dict[str, World]) -> None:
    """Dagster's Postgres storage does not wipe single partitions, and neither does ours."""
    for world in worlds.values():
        with pytest.raises(NotImplementedError):
            world.storage.wipe_asset_partitions(graph.FIRST, KEYS[:1])


@pytest.mark.parametrize("name", ["stock", "ours"])
def test_two_processes_write_one_asset(
    state: Path, worlds: dict[str, World], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Two runs over the same days at once: neither waits for ever, each stores its events once."""
    monkeypatch.setenv(BATCH, "3" if name == "ours" else "0")
    monkeypatch.setenv("WORKDAY_ASSETS_HOME", str(state))
    world = worlds[name]
    empty(world)
    program = [sys.executable, str(Path(graph.__file__)), serialize_value(world.instance.get_ref())]
    with world.storage.index_transaction() as connection:  # type: ignore[attr-defined]
        connection.exec_driver_sql("LOCK TABLE asset_keys IN EXCLUSIVE MODE")
        runs = [subprocess.Popen(program, stderr=subprocess.DEVNULL) for _ in range(2)]
        wait_until(lambda: waiting_for_assets(world) == 2, "both have events to store")
    assert [process.wait(100) for process in runs] == [0, 0]
    for run_id in world.runs[:2]:
        records = world.storage.get_records_for_run(run_id, of_type={PLANNED, MATERIALIZED}).records
        events = [record.event_log_entry.get_dagster_event() for record in records]
        assert [(event.event_type, event.partition) for event in events] == [
            (kind, key) for kind in (PLANNED, MATERIALIZED) for key in KEYS
        ]
    assert statuses(answers(world), "first")["made"] == KEYS
    (record,) = world.storage.get_asset_records([graph.FIRST])
    newest = record.asset_entry.last_materialization_record
    assert newest is not None
    assert newest.partition_key == KEYS[-1]


def waiting_for_assets(world: World) -> int:
    """How many connections wait to write to the table of assets."""
    with world.storage.index_connection() as connection:  # type: ignore[attr-defined]
        waiting = (
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'asset_keys'::regclass"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        return int(connection.exec_driver_sql(waiting).scalar_one())
