"""Compute logs and Dagster's local artifacts, kept in the state root.

`dagster dev` without `DAGSTER_HOME` would keep both in a temporary folder that goes away with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from dagster._config.config_schema import UserConfigSchema
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._core.storage.root import LocalArtifactStorage
from dagster._serdes import ConfigurableClassData

from workday_assets.storage.state import state_root


class StateRootComputeLogManager(LocalComputeLogManager):
    """What runs print, in `compute_logs` in the state root; it takes no configuration."""

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        """No configuration."""
        return {}

    @classmethod
    def from_config_value(
        cls,
        inst_data: ConfigurableClassData | None,
        config_value: Mapping[str, object],  # noqa: ARG003 - Dagster's signature
    ) -> StateRootComputeLogManager:
        """The manager for this process's state root."""
        return cls(base_dir=str(state_root() / "compute_logs"), inst_data=inst_data)


class StateRootArtifactStorage(LocalArtifactStorage):
    """Files of Dagster's default I/O manager, in `artifacts` in the state root."""

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        """No configuration."""
        return {}

    @classmethod
    def from_config_value(
        cls,
        inst_data: ConfigurableClassData | None,
        config_value: Mapping[str, object],  # noqa: ARG003 - Dagster's signature
    ) -> StateRootArtifactStorage:
        """The storage for this process's state root."""
        return cls(base_dir=str(state_root() / "artifacts"), inst_data=inst_data)
