"""A graph of workday assets with what the instance recorded of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import dagster as dg
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph
from dagster._core.definitions.backfill_policy import BackfillPolicyType
from dagster._core.definitions.partitions.context import partition_loading_context

from workday_assets.automation.recorded import (
    Recorded,
    read_recorded,
    runs_of_materializations,
    unfinished_runs,
)
from workday_assets.errors import InvalidInputError
from workday_assets.partitions import WorkdayPartitionsDefinition

AssetDay = tuple[dg.AssetKey, date]


@dataclass(frozen=True)
class WorkdayAsset:
    """One asset.

    Attributes:
        key: its key.
        partitions_def: its workdays.
        parents: its upstream workday assets, each with the mapping to their partitions.
        others: its upstream assets with other partitions, likewise.
        recorded: what the instance recorded of it.
    """

    key: dg.AssetKey
    partitions_def: WorkdayPartitionsDefinition
    parents: Mapping[dg.AssetKey, dg.PartitionMapping]
    others: Mapping[dg.AssetKey, dg.PartitionMapping]
    recorded: Recorded

    @property
    def is_root(self) -> bool:
        """Whether nothing partitioned is upstream of it: it reads the source."""
        return not self.parents and not self.others


class WorkdayGraph:
    """Selected workday assets, in order of dependency, and their workday parents.

    Args:
        graph: the asset graph that holds them.
        instance: where runs and materializations are recorded.
        keys: the selection.
        as_of: "now", aware: partitions that are complete then exist.

    Attributes:
        assets: the selected assets, upstream before downstream.
        fmt: `strftime` format of their partition keys.
        ranged: those that can make several days in one run, by their backfill policy.

    Raises:
        InvalidInputError: a selected asset is not partitioned by `WorkdayPartitionsDefinition`,
            or the assets' partition keys have different formats.
    """

    def __init__(
        self,
        graph: BaseAssetGraph[Any],
        instance: dg.DagsterInstance,
        keys: Iterable[dg.AssetKey],
        as_of: datetime,
    ) -> None:
        self._graph = graph
        self._instance = instance
        self._as_of = as_of
        selected = set(keys)
        for key in sorted(selected):
            if not isinstance(graph.get(key).partitions_def, WorkdayPartitionsDefinition):
                raise InvalidInputError(
                    f"assets={key.to_user_string()} is not partitioned by a"
                    f" WorkdayPartitionsDefinition ({graph.get(key).partitions_def}); leave it out."
                )
        unfinished = unfinished_runs(instance)
        known: dict[dg.AssetKey, WorkdayAsset] = {}
        for key in graph.toposorted_asset_keys:
            if key in selected or any(child in selected for child in graph.get(key).child_keys):
                definition = graph.get(key).partitions_def
                if isinstance(definition, WorkdayPartitionsDefinition):
                    recorded = read_recorded(instance, key, definition, unfinished)
                    workday, others = self._parents(key)
                    known[key] = WorkdayAsset(key, definition, workday, others, recorded)
        formats = {asset.partitions_def.fmt for asset in known.values()}
        if len(formats) > 1:
            raise InvalidInputError(
                f"assets have partition keys of different formats ({', '.join(sorted(formats))});"
                " give them one `fmt`, since one run has one key."
            )
        self.fmt = next(iter(formats), "%Y-%m-%d")
        single_run = BackfillPolicyType.SINGLE_RUN
        policies = {key: graph.get(key).backfill_policy for key in known}
        self.ranged = {
            key
            for key, policy in policies.items()
            # One run of a range would read its own days before it has made them.
            if policy and policy.policy_type == single_run and key not in known[key].parents
        }
        self._known = known
        self.assets = {key: asset for key, asset in known.items() if key in selected}
        self._outdated = {key: self._find_outdated(asset) for key, asset in self.assets.items()}
        self._done = {
            key: asset.recorded.materialized.keys() - self.outdated(key).keys()
            for key, asset in known.items()
        }

    def outdated(self, key: dg.AssetKey) -> Mapping[date, AssetDay]:
        """Materialized days of a selected asset with a newer upstream partition, which is named."""
        return self._outdated.get(key, {})

    def done(self, key: dg.AssetKey) -> Set[date]:
        """The days of a known asset that are materialized from what is upstream now."""
        return self._done[key]

    def missing_elsewhere(self, asset: WorkdayAsset, day: date) -> str | None:
        """An upstream partition that is no workday's and not materialized, or `None`."""
        for parent, mapping in asset.others.items():
            definition = self._graph.get(parent).partitions_def
            keys = _upstream_keys(mapping, asset.partitions_def, definition, day, self._as_of)
            missing = sorted(keys - self._instance.get_materialized_partitions(parent))
            if missing:
                return f"{parent.to_user_string()} {missing[0]}"
        return None

    def upstream(self, asset: WorkdayAsset, day: date) -> Iterator[AssetDay]:
        """The (asset, day) pairs that `asset` needs for `day`, by its partition mappings."""
        for parent, mapping in asset.parents.items():
            for found in self._needed(asset, mapping, self._known[parent], day):
                yield parent, found

    def _parents(
        self, key: dg.AssetKey
    ) -> tuple[dict[dg.AssetKey, dg.PartitionMapping], dict[dg.AssetKey, dg.PartitionMapping]]:
        """The mappings to upstream workday assets, and to assets with other partitions."""
        workday: dict[dg.AssetKey, dg.PartitionMapping] = {}
        others: dict[dg.AssetKey, dg.PartitionMapping] = {}
        for parent in sorted(self._graph.get(key).parent_keys):
            definition = self._graph.get(parent).partitions_def
            if definition is not None:
                ours = isinstance(definition, WorkdayPartitionsDefinition)
                mapping = self._graph.get_partition_mapping(key, parent_asset_key=parent)
                (workday if ours else others)[parent] = mapping
        return workday, others

    def _find_outdated(self, asset: WorkdayAsset) -> dict[date, AssetDay]:
        """Materialized days whose upstream was materialized after their own run was planned.

        What the same run made first does not count. The run may have read its inputs just before
        they were made again: then it is asked for once more, rather than never.
        """
        found: dict[date, AssetDay] = {}
        made, planned = asset.recorded.materialized, asset.recorded.planned
        for parent, mapping in asset.parents.items():
            upstream = self._known[parent]
            newer = upstream.recorded.materialized
            suspects = [
                (day, needed)
                for day, number in made.items()
                for needed in self._needed(asset, mapping, upstream, day)
                if newer.get(needed, 0) > min(planned.get(day, number), number)
            ]
            if not suspects:
                continue
            since = min(min(made[day], newer[needed]) for day, needed in suspects)
            ours = runs_of_materializations(self._instance, asset.key, since)
            theirs = runs_of_materializations(self._instance, parent, since)
            for day, needed in suspects:
                run = theirs.get(newer[needed])
                other_run = run is not None and run != ours.get(made[day])
                if newer[needed] > made[day] or other_run:
                    found[day] = (parent, needed)
        return found

    def _needed(
        self, asset: WorkdayAsset, mapping: dg.PartitionMapping, upstream: WorkdayAsset, day: date
    ) -> list[date]:
        """As `upstream_days`, without Dagster's slow way where both have the same workdays."""
        definition = asset.partitions_def
        same = definition == upstream.partitions_def
        if not same or not isinstance(mapping, dg.TimeWindowPartitionMapping):
            return upstream_days(mapping, definition, upstream.partitions_def, day, self._as_of)
        return definition.days_around(day, mapping.start_offset, mapping.end_offset)


def upstream_days(
    mapping: dg.PartitionMapping,
    partitions_def: WorkdayPartitionsDefinition,
    upstream_def: WorkdayPartitionsDefinition,
    day: date,
    as_of: datetime,
) -> list[date]:
    """The upstream workdays that `mapping` names for the workday `day`, oldest first."""
    keys = _upstream_keys(mapping, partitions_def, upstream_def, day, as_of)
    return sorted(upstream_def.day(key) for key in keys)


def _upstream_keys(
    mapping: dg.PartitionMapping,
    partitions_def: WorkdayPartitionsDefinition,
    upstream_def: dg.PartitionsDefinition | None,
    day: date,
    as_of: datetime,
) -> set[str]:
    assert upstream_def is not None  # noqa: S101 - only partitioned assets are asked for
    with partition_loading_context(as_of):
        subset = partitions_def.subset_with_partition_keys([day.strftime(partitions_def.fmt)])
        result = mapping.get_upstream_mapped_partitions_result_for_partitions(
            subset, partitions_def, upstream_def
        )
        return set(result.partitions_subset.get_partition_keys())
