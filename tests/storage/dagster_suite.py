"""Dagster's own event-log tests, run on our storage.

They are in Dagster's repository and in its source distribution, not in its wheel; nothing of them
is kept here. Take the release that is installed::

    pip download --no-deps --no-binary dagster dagster==1.13.27 && tar xzf dagster-1.13.27.tar.gz
    python tests/storage/dagster_suite.py dagster-1.13.27

After the path every option of pytest may follow, such as ``-k batch -rs``. None is expected to
fail; `docs/event-storage.md` says which are skipped, and why.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

_VARIABLE = "DAGSTER_TESTS"  # how `main` tells the path to this file when pytest imports it
# In a source distribution, in a clone of the repository.
_FOLDERS = [
    f"{inside}dagster_tests/storage_tests/utils" for inside in ("", "python_modules/dagster/")
]


def main(arguments: list[str]) -> int:
    """Run the tests that lie below the first argument; pytest's exit code.

    Returns:
        2 when there are none at that path, with one sentence on standard error.
    """
    if not arguments:
        return _refuse("name the folder of a clone or of the source distribution of Dagster.")
    found = [
        folder
        for folder in (Path(arguments[0], inside).resolve() for inside in _FOLDERS)
        if (folder / "event_log_storage.py").is_file()
    ]
    if not found:
        return _refuse(
            f"{arguments[0]} holds no dagster_tests/storage_tests; name the folder of a clone or of"
            " the source distribution of Dagster."
        )
    os.environ[_VARIABLE] = str(found[0])
    ours = ["-c", os.devnull, "--rootdir", os.fspath(Path(__file__).parent), "--noconftest"]
    return int(pytest.main([__file__, *ours, "-p", "no:cacheprovider", *arguments[1:]]))


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"dagster_suite: {sentence}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# The file alone: its package imports a further one, which is on no registry.
sys.path.append(os.environ[_VARIABLE])
pytest.register_assert_rewrite("event_log_storage")
from event_log_storage import TestEventLogStorage  # noqa: E402

from workday_assets.storage.event_log import WorkdayEventLogStorage  # noqa: E402
from workday_assets.storage.server import ServerLease, join_server  # noqa: E402


@pytest.fixture(scope="session")
def lease() -> Iterator[ServerLease]:
    """A use of an embedded Postgres of the session's own, which is what `WorkdayStorage` joins."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)  # the server of a test that runs as root is another user
        os.environ["WORKDAY_ASSETS_HOME"] = name
        lease = join_server(Path(name))
        yield lease
        lease.close()


class TestWorkdayEventLogStorage(TestEventLogStorage):
    """The tests, on an instance whose storage is the one that `dagster.yaml` names."""

    __test__ = True

    @pytest.fixture(name="instance")
    def workday_instance(self, lease: ServerLease) -> Iterator[dg.DagsterInstance]:
        """An instance with an empty event log."""
        WorkdayEventLogStorage.create_clean_storage(lease.url).dispose()
        storage = {"module": "workday_assets.storage.postgres", "class": "WorkdayStorage"}
        with dg.instance_for_test(overrides={"storage": {"custom": storage}}) as instance:
            yield instance

    @pytest.fixture(name="storage")
    def event_log_storage(self, instance: dg.DagsterInstance) -> WorkdayEventLogStorage:
        """Its event log."""
        assert isinstance(instance.event_log_storage, WorkdayEventLogStorage)
        return instance.event_log_storage

    def can_wipe_asset_partitions(self) -> bool:
        """No, as in Dagster's own Postgres storage."""
        return False
