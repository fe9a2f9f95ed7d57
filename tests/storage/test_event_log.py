"""Events are written in bulk, whole or not at all, and never twice, on the real Postgres."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import psycopg2
import pytest
import sqlalchemy
from support.lossy import LossyPath
from support.projects import dev_starter

from workday_assets.errors import InstanceError
from workday_assets.storage.event_log import WorkdayEventLogStorage
from workday_assets.storage.event_rows import event_rows
from workday_assets.storage.server import join_server
from workday_assets.storage.state import POSTGRES_URL_VARIABLE, find_instance

DAYS = dg.DailyPartitionsDefinition("2026-01-01", end_date="2026-01-31")
RANGE = {
    "dagster/asset_partition_range_start": "2026-01-05",
    "dagster/asset_partition_range_end": "2026-01-09",
}
KEYS = [f"2026-01-0{n}" for n in range(5, 10)]
MADE = dg.AssetKey("made")
PLANNED = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
MATERIALIZED = dg.DagsterEventType.ASSET_MATERIALIZATION
TABLES = ("event_logs", "asset_event_tags", "asset_keys")

BATCH_VARIABLE = "DAGSTER_EVENT_BATCH_SIZE"

DEFINITIONS = """
import os

import dagster as dg

@dg.asset(
    partitions_def=dg.DailyPartitionsDefinition("2026-01-01", end_date="2026-01-31"),
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def made():
    return dg.MaterializeResult(metadata={"batch size": os.environ["DAGSTER_EVENT_BATCH_SIZE"]})

job = dg.define_asset_job("job", [made], executor_def=dg.in_process_executor)

@dg.sensor(job=job, default_status=dg.DefaultSensorStatus.RUNNING)
def once():
    yield dg.RunRequest(run_key="once", tags={
        "dagster/asset_partition_range_start": "2026-01-05",
        "dagster/asset_partition_range_end": "2026-01-09",
    })

defs = dg.Definitions([made], jobs=[job], sensors=[once])
"""

# When a row is refused, by the table that is written: in the middle of the events, then in the
# middle of their tags, then at the asset's newest event, with which a batch ends.
FAULTS = {
    "event_logs": "NEW.partition = '2026-01-08' AND NEW.dagster_event_type = '{type}'",
    "asset_event_tags": "'2026-01-08' = (SELECT partition FROM event_logs WHERE id = NEW.event_id)",
    "asset_keys": "NEW.last_materialization LIKE '%2026-01-09%'",
}
ERRORS = {
    "refused row": "RAISE 'this row is refused'",
    "killed connection": "PERFORM pg_terminate_backend(pg_backend_pid())",
}


@dg.asset(partitions_def=DAYS, backfill_policy=dg.BackfillPolicy.single_run(), code_version="1")
def made(context: dg.AssetExecutionContext) -> None:
    """Materializes every day of its range, each with a text of its own."""
    for key in context.partition_keys:
        text = f"tab\t, newline\n, \\N, \\., 'quote', ünïcode of {key}"
        context.add_asset_metadata({"text": text}, partition_key=key)


@pytest.fixture(autouse=True)
def _no_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what an instance that was opened before has set."""
    monkeypatch.delenv(BATCH_VARIABLE, raising=False)


@pytest.fixture
def instance(project: Path) -> Iterator[dg.DagsterInstance]:
    """The project's instance, on the embedded Postgres."""
    assert project.is_dir()
    with find_instance().open() as found:
        yield found


def ranged_run(instance: dg.DagsterInstance) -> str:
    """One run over five days; its id."""
    return dg.materialize([made], instance=instance, tags=RANGE).run_id


def asset_events(instance: dg.DagsterInstance, run_id: str) -> list[dg.EventLogEntry]:
    """The events of a run that name its asset, in their order."""
    records = instance.get_records_for_run(run_id, of_type={PLANNED, MATERIALIZED}).records
    return [record.event_log_entry for record in records]


def partitions(instance: dg.DagsterInstance, run_id: str) -> dict[Any, list[str | None]]:
    """The partitions that a run planned and materialized, in the order of the events."""
    found: dict[Any, list[str | None]] = {PLANNED: [], MATERIALIZED: []}
    for event in asset_events(instance, run_id):
        found[event.dagster_event_type].append(event.get_dagster_event().partition)
    return found


def execute(instance: dg.DagsterInstance, *statements: str) -> None:
    """Run statements in the instance's database."""
    storage = instance.event_log_storage
    assert isinstance(storage, WorkdayEventLogStorage)
    with storage.index_connection() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement.replace("%", "%%"))


def stored_rows(instance: dg.DagsterInstance) -> dict[str, list[Any]]:
    """Every row of the tables that a batch writes to."""
    storage = instance.event_log_storage
    assert isinstance(storage, WorkdayEventLogStorage)
    with storage.index_connection() as connection:
        return {
            table: list(connection.exec_driver_sql(f"SELECT * FROM {table} ORDER BY id"))  # noqa: S608
            for table in TABLES
        }


def fail_once(instance: dg.DagsterInstance, table: str, error: str, type: str = "%") -> None:
    """Let the database do `error` at the first row of `table` that its fault names."""
    execute(
        instance,
        "CREATE SEQUENCE faults",  # counts on when the transaction is rolled back
        f"""CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF {FAULTS[table].format(type=type)} THEN
        IF nextval('faults') = 1 THEN {ERRORS[error]}; END IF; END IF;
        RETURN NEW; END $$""",
        f"CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION fail()",
    )


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("table", FAULTS)
def test_a_batch_is_stored_whole_or_not_at_all(
    instance: dg.DagsterInstance, table: str, error: str
) -> None:
    """Wherever a batch breaks, nothing of it is left behind; the next one is stored."""
    run_id = ranged_run(instance)
    batch = [e for e in asset_events(instance, run_id) if e.dagster_event_type == MATERIALIZED]
    before = stored_rows(instance)
    fail_once(instance, table, error, MATERIALIZED.value)
    with pytest.raises((psycopg2.Error, sqlalchemy.exc.DBAPIError)):
        instance.event_log_storage.store_event_batch(batch)
    assert stored_rows(instance) == before
    instance.event_log_storage.store_event_batch(batch)
    assert {t: len(rows) - len(before[t]) for t, rows in stored_rows(instance).items()} == {
        "event_logs": 5,
        "asset_event_tags": 5,
        "asset_keys": 0,
    }


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(
    ("table", "broken"),
    [
        ("event_logs", PLANNED),
        ("event_logs", MATERIALIZED),
        ("asset_event_tags", MATERIALIZED),
        ("asset_keys", MATERIALIZED),
    ],
    ids=["planned events", "materializations", "tags", "newest event"],
)
def test_a_broken_batch_loses_and_doubles_nothing(
    instance: dg.DagsterInstance,
    capfd: pytest.CaptureFixture[str],
    table: str,
    broken: dg.DagsterEventType,
    error: str,
) -> None:
    """Dagster stores the events one by one after a batch failed; each is there once."""
    fail_once(instance, table, error, broken.value)
    run_id = ranged_run(instance)
    assert capfd.readouterr().err.count("Falling back") == 1
    assert partitions(instance, run_id) == {PLANNED: KEYS, MATERIALIZED: KEYS}
    assert instance.get_materialized_partitions(MADE) == set(KEYS)
    assert len(stored_rows(instance)["asset_event_tags"]) == 5


@pytest.mark.parametrize(
    ("lost", "fallbacks"), [("commit", 1), ("answer", 0)], ids=["commit", "answer to the commit"]
)
def test_a_lost_answer_doubles_nothing(
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    lost: str,
    fallbacks: int,
) -> None:
    """A connection that breaks at the end of a batch: its events are there once, either way."""
    assert project.is_dir()
    lease = join_server(tmp_path / "external")
    server = Path(str(sqlalchemy.make_url(lease.url).query["host"]))
    folder = tmp_path / "lossy"
    folder.mkdir()
    path = LossyPath(folder, server)
    monkeypatch.setenv(POSTGRES_URL_VARIABLE, f"postgresql://postgres@/postgres?host={folder}")
    with find_instance().open() as instance:
        path.lose(lost)
        run_id = ranged_run(instance)
        assert partitions(instance, run_id) == {PLANNED: KEYS, MATERIALIZED: KEYS}
        assert path.lost == 1
    assert capfd.readouterr().err.count("Falling back") == fallbacks
    path.close()
    lease.close()


def test_rows_are_those_that_dagster_writes(instance: dg.DagsterInstance) -> None:
    """Column by column and text by text, a row is what Dagster's own method makes of the event."""
    storage = instance.event_log_storage
    assert isinstance(storage, WorkdayEventLogStorage)
    events = asset_events(instance, ranged_run(instance))
    assert [dict(stored.row) for stored in event_rows(events)] == [
        storage._event_to_row(event) for event in events
    ]
    assert len(events) == 10


def test_batches_are_on_by_default(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening the instance is enough, as a test or a command does; a range is one batch."""
    batches: list[int] = []
    store = WorkdayEventLogStorage.store_event_batch
    monkeypatch.setattr(
        WorkdayEventLogStorage,
        "store_event_batch",
        lambda storage, events: (batches.append(len(events)), store(storage, events))[1],
    )
    ranged_run(instance)
    assert batches == [5, 5]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("size", ["0", "-1"])
def test_batches_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    """With no batch size, events are stored one by one, as Dagster does by default."""
    monkeypatch.setenv(BATCH_VARIABLE, size)
    monkeypatch.setattr(WorkdayEventLogStorage, "store_event_batch", None)
    with find_instance().open() as instance:
        assert partitions(instance, ranged_run(instance)) == {PLANNED: KEYS, MATERIALIZED: KEYS}


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("size", ["many", "1000.0", ""], ids=["word", "fraction", "nothing"])
def test_a_batch_size_that_means_nothing_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    """It is refused when the instance is opened, not in the middle of a run."""
    monkeypatch.setenv(BATCH_VARIABLE, size)
    with pytest.raises(InstanceError) as caught, find_instance().open():
        pass
    assert str(caught.value) == (
        f"DAGSTER_EVENT_BATCH_SIZE={size} is not a whole number; write how many events are stored"
        " at once, or 0 to store them one by one, or unset it for 1000."
    )


@pytest.mark.parametrize(
    ("own", "seen"), [(None, "1000"), ("7", "7")], ids=["by default", "a value of one's own"]
)
def test_batches_are_on_in_a_launched_run(
    project: Path, monkeypatch: pytest.MonkeyPatch, own: str | None, seen: str
) -> None:
    """In a run that the daemon of a plain `dagster dev` launches, nothing has to be set."""
    if own:
        monkeypatch.setenv(BATCH_VARIABLE, own)
    (project / "tiny_definitions.py").write_text(DEFINITIONS)
    (project / "workspace.yaml").write_text("load_from:\n  - python_module: tiny_definitions\n")
    with dev_starter(project) as start:
        run_id = start().wait_for_the_run()
    with find_instance().open() as instance:
        events = asset_events(instance, run_id)
    made = [e.asset_materialization for e in events if e.dagster_event_type == MATERIALIZED]
    assert [(m.partition, m.metadata["batch size"].value) for m in made if m] == [
        (key, seen) for key in KEYS
    ]
