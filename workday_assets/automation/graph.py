"""A graph of assets by workday or by period, with what the instance recorded of them.

A partition is known by its date: a workday, or the first date of a week, month, quarter or year.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import dagster as dg
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph
from dagster._core.definitions.backfill_policy import BackfillPolicyType
from dagster._core.definitions.partitions.context import partition_loading_context

from workday_assets.automation.periods import Periods, has_whole_dates
from workday_assets.automation.recorded import (
    Recorded,
    read_recorded,
    runs_of_materializations,
    unfinished_runs,
)
from workday_assets.errors import InvalidInputError
from workday_assets.mappings import SameWorkday
from workday_assets.partitions import WorkdayPartitionsDefinition

AssetDay = tuple[dg.AssetKey, date]
Dates = WorkdayPartitionsDefinition | Periods
Replacements = Mapping[WorkdayPartitionsDefinition, WorkdayPartitionsDefinition]
Mappings = dict[dg.AssetKey, dg.PartitionMapping]
#: The partitions of an asset, its dated parents and its other ones.
Shape = tuple[Dates, Mappings, Mappings]


@dataclass(frozen=True)
class DatedAsset:
    """One asset.

    Attributes:
        key: its key.
        dates: its partitions.
        parents: its upstream assets whose partitions are dates too, each with the mapping to them.
        others: its upstream assets with other partitions, likewise.
        recorded: what the instance recorded of it.
    """

    key: dg.AssetKey
    dates: Dates
    parents: Mappings
    others: Mappings
    recorded: Recorded

    @property
    def definition(self) -> dg.TimeWindowPartitionsDefinition:
        """Its partitions definition."""
        return self.dates.definition if isinstance(self.dates, Periods) else self.dates

    @property
    def is_root(self) -> bool:
        """Whether nothing partitioned is upstream of it: it reads the source."""
        return not self.parents and not self.others


class DatedGraph:
    """Selected assets, in order of dependency, and what is upstream of them.

    Of a workday asset the parents are known, of a period asset everything upstream.

    Args:
        graph: the asset graph that holds them.
        instance: where runs and materializations are recorded.
        keys: the selection.
        as_of: "now", aware: partitions that are complete then exist.
        remake: by asset, dates that count as not made, whatever is recorded.
        instead: definitions to take in place of the assets' own, to see what they would change.

    Attributes:
        assets: the selected assets, upstream before downstream.
        ranged: those that can make several partitions in one run, by their backfill policy.

    Raises:
        InvalidInputError: a selected asset has no partitions that are dates.
    """

    def __init__(
        self,
        graph: BaseAssetGraph[Any],
        instance: dg.DagsterInstance,
        keys: Iterable[dg.AssetKey],
        as_of: datetime,
        remake: Mapping[dg.AssetKey, Set[date]] | None = None,
        instead: Replacements | None = None,
    ) -> None:
        self._graph = graph
        self._instead = instead or {}
        self._instance = instance
        self._as_of = as_of
        self._periods: dict[dg.TimeWindowPartitionsDefinition, Periods] = {}
        selected = set(keys)
        shapes, judged = self._shapes(selected)
        unfinished = unfinished_runs(instance)
        known: dict[dg.AssetKey, DatedAsset] = {}
        for key in graph.toposorted_asset_keys:
            if key in shapes:
                dates, parents, others = shapes[key]
                recorded = read_recorded(instance, key, dates, unfinished)
                known[key] = DatedAsset(key, dates, parents, others, recorded)
        self._known = known
        self.assets = {key: asset for key, asset in known.items() if key in selected}
        self.ranged = {key for key, asset in self.assets.items() if self._is_ranged(asset)}
        self._outdated: dict[dg.AssetKey, dict[date, AssetDay]] = {}
        for key, asset in known.items():
            if key in judged:
                self._outdated[key] = self._find_outdated(asset)
        self._done = {
            key: asset.recorded.materialized.keys()
            - self.outdated(key)
            - (remake or {}).get(key, frozenset())
            for key, asset in known.items()
        }

    def outdated(self, key: dg.AssetKey) -> Set[date]:
        """Materialized days of an asset whose upstream was, or is to be, materialized again.

        Empty for unselected parents of workday assets.
        """
        return self._outdated.get(key, {}).keys()

    def why_outdated(self, key: dg.AssetKey, day: date) -> str:
        """What makes a day of an asset outdated, as a clause."""
        parent, needed = self._outdated[key][day]
        again = needed in self.outdated(parent)
        what = "is made again with it" if again else "was materialized after it"
        return f"{parent.to_user_string()} {needed} {what}"

    def done(self, key: dg.AssetKey) -> Set[date]:
        """The days of a known asset that are materialized from what is upstream now."""
        return self._done[key]

    def missing_elsewhere(self, asset: DatedAsset, day: date) -> str | None:
        """An upstream partition whose asset is not known here and that is not materialized."""
        for parent, mapping in asset.others.items():
            definition = self._graph.get(parent).partitions_def
            assert definition is not None  # noqa: S101 - only partitioned assets are asked for
            keys = _upstream_keys(mapping, asset.definition, definition, day, self._as_of)
            missing = sorted(keys - self._instance.get_materialized_partitions(parent))
            if missing:
                return f"{parent.to_user_string()} {missing[0]}"
        return None

    def upstream(self, asset: DatedAsset, day: date) -> Iterator[AssetDay]:
        """The (asset, day) pairs that `asset` needs for `day`, by its partition mappings."""
        for parent, mapping in asset.parents.items():
            for found in self._needed(asset, mapping, self._known[parent], day):
                yield parent, found

    def definitions(self) -> Set[Dates]:
        """The partitions of all known assets."""
        return {asset.dates for asset in self._known.values()}

    def dates(self, key: dg.AssetKey) -> Dates:
        """The partitions of a known asset."""
        return self._known[key].dates

    def in_flight(self, key: dg.AssetKey) -> Set[date]:
        """The days of a known asset with a run that has not ended."""
        return self._known[key].recorded.in_flight.keys()

    def _shapes(
        self, selected: Set[dg.AssetKey]
    ) -> tuple[dict[dg.AssetKey, Shape], Set[dg.AssetKey]]:
        """What is to be known of which assets; and those of which all parents are."""
        found: dict[dg.AssetKey, Shape] = {}
        wanted, judged = set(selected), set(selected)
        under_periods: set[dg.AssetKey] = set()
        for key in reversed(list(self._graph.toposorted_asset_keys)):
            if key not in wanted:
                continue
            dates = self._dates(key)
            parents, others = self._parents(key, dates)
            found[key] = (dates, parents, others)
            if key in judged:
                wanted |= parents.keys()
            if isinstance(dates, Periods) or key in under_periods:
                judged |= parents.keys()
                under_periods |= parents.keys()
        return found, judged

    def _dates(self, key: dg.AssetKey) -> Dates:
        definition, name = self._graph.get(key).partitions_def, key.to_user_string()
        if isinstance(definition, dg.MultiPartitionsDefinition):
            raise InvalidInputError(
                f"assets={name} has partitions of several dimensions"
                f" ({', '.join(d.name for d in definition.partitions_defs)}), of which no trigger"
                " by workday knows which to make; partition it by workdays alone or leave it out."
            )
        if isinstance(definition, WorkdayPartitionsDefinition):
            return self._instead.get(definition, definition)
        if not has_whole_dates(definition):
            raise InvalidInputError(
                f"assets={name} is not partitioned by workdays, nor by weeks or other windows from"
                f" midnight to midnight ({definition}); leave it out."
            )
        if definition not in self._periods:
            self._periods[definition] = Periods(definition, self._as_of)
        return self._periods[definition]

    def _parents(self, key: dg.AssetKey, dates: Dates) -> tuple[Mappings, Mappings]:
        """The mappings to upstream assets that are known, and to those that are not."""
        known: Mappings = {}
        others: Mappings = {}
        for parent in sorted(self._graph.get(key).parent_keys):
            definition = self._graph.get(parent).partitions_def
            if definition is None:
                continue
            workdays = isinstance(definition, WorkdayPartitionsDefinition)
            dated = workdays or (isinstance(dates, Periods) and has_whole_dates(definition))
            mapping = self._graph.get_partition_mapping(key, parent_asset_key=parent)
            (known if dated else others)[parent] = mapping
        return known, others

    def _is_ranged(self, asset: DatedAsset) -> bool:
        policy = self._graph.get(asset.key).backfill_policy
        # One run of a range would read its own days before it has made them.
        alone = asset.key not in asset.parents
        return alone and policy and policy.policy_type == BackfillPolicyType.SINGLE_RUN

    def _find_outdated(self, asset: DatedAsset) -> dict[date, AssetDay]:
        """Materialized days whose upstream was, or is to be, materialized after them.

        What the same run made first does not count. The run may have read its inputs just before
        they were made again: then it is asked for once more, rather than never.
        """
        found: dict[date, AssetDay] = {}
        for parent, mapping in asset.parents.items():
            found |= self._outdated_by(asset, mapping, self._known[parent])
            behind = self.outdated(parent)
            for day in asset.recorded.materialized.keys() - found.keys() if behind else ():
                for needed in self._needed(asset, mapping, self._known[parent], day):
                    if needed in behind:
                        found[day] = (parent, needed)
        return found

    def _outdated_by(
        self, asset: DatedAsset, mapping: dg.PartitionMapping, upstream: DatedAsset
    ) -> dict[date, AssetDay]:
        """Materialized days that were planned before an upstream day was materialized."""
        made, planned = asset.recorded.materialized, asset.recorded.planned
        newer = upstream.recorded.materialized
        suspects = [
            (day, needed)
            for day, number in made.items()
            for needed in self._needed(asset, mapping, upstream, day)
            if newer.get(needed, 0) > min(planned.get(day, number), number)
        ]
        if not suspects:
            return {}
        since = min(min(made[day], newer[needed]) for day, needed in suspects)
        ours = runs_of_materializations(self._instance, asset.key, since)
        theirs = runs_of_materializations(self._instance, upstream.key, since)
        found: dict[date, AssetDay] = {}
        for day, needed in suspects:
            run = theirs.get(newer[needed])
            other_run = run is not None and run != ours.get(made[day])
            if newer[needed] > made[day] or other_run:
                found[day] = (upstream.key, needed)
        return found

    def _needed(
        self, asset: DatedAsset, mapping: dg.PartitionMapping, upstream: DatedAsset, day: date
    ) -> list[date]:
        """As `upstream_days`, without Dagster's slow way where dates alone tell."""
        ours, theirs = asset.dates, upstream.dates
        if isinstance(mapping, SameWorkday):
            return theirs.days_around(day, 0, 0)
        if isinstance(mapping, dg.TimeWindowPartitionMapping):
            if ours == theirs:
                return ours.days_around(day, mapping.start_offset, mapping.end_offset)
            own = mapping.start_offset == mapping.end_offset == 0
            if (
                own
                and isinstance(ours, Periods)
                and isinstance(theirs, WorkdayPartitionsDefinition)
            ):
                found = ours.workdays(day, theirs)
                if found is not None:
                    return found
        if not is_partition(ours, day):
            return []
        return upstream_days(mapping, ours, theirs, day, self._as_of)


def is_partition(dates: Dates, day: date) -> bool:
    """Whether there is a partition of that date now; one may be recorded that no longer is."""
    if isinstance(dates, Periods):
        return dates.starting(day) is not None
    return bool(dates.days_around(day, 0, 0))


def upstream_days(
    mapping: dg.PartitionMapping, dates: Dates, upstream: Dates, day: date, as_of: datetime
) -> list[date]:
    """The upstream dates that `mapping` names for the partition of `day`, oldest first."""
    definitions = [d.definition if isinstance(d, Periods) else d for d in (dates, upstream)]
    keys = _upstream_keys(mapping, definitions[0], definitions[1], day, as_of)
    return sorted(upstream.day(key) for key in keys)


def _upstream_keys(
    mapping: dg.PartitionMapping,
    definition: dg.TimeWindowPartitionsDefinition,
    upstream: dg.PartitionsDefinition,
    day: date,
    as_of: datetime,
) -> set[str]:
    with partition_loading_context(as_of):
        subset = definition.subset_with_partition_keys([day.strftime(definition.fmt)])
        result = mapping.get_upstream_mapped_partitions_result_for_partitions(
            subset, definition, upstream
        )
        return set(result.partitions_subset.get_partition_keys())
