"""`workday-assets diff --impact`: what a change of calendar would do to the project's records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from workday_assets.cli.audit_progress import progress

if TYPE_CHECKING:
    from workday_assets.audit.impact import AssetImpact
    from workday_assets.calendars import WorkdayCalendar

_NAMED_AT_MOST = 12


def impact_of(new: WorkdayCalendar) -> list[AssetImpact]:
    """Of each asset of the project, what would change with `new`; the instance is only read."""
    from workday_assets.audit.impact import find_impact
    from workday_assets.cli.project import open_project
    from workday_assets.ecb.assets import COUNTED_CALENDARS, DAYS_USED
    from workday_assets.ecb.jobs import PERIOD_ASSETS, WORKDAY_ASSETS

    with open_project() as project, progress() as begin:
        graph = project.repository.asset_graph
        keys = (WORKDAY_ASSETS | PERIOD_ASSETS).resolve(graph)
        return find_impact(
            graph,
            project.instance,
            keys,
            new,
            as_of=project.as_of,
            days_used=DAYS_USED,
            calendars=COUNTED_CALENDARS,
            begin=begin,
        )


def sentences(impacts: Sequence[AssetImpact]) -> Iterator[str]:
    """What would change, a line per asset and kind."""
    changed = [impact for impact in impacts if impact]
    if not changed:
        yield "Impact: no partition appears or goes, and nothing that is recorded is affected."
        return
    yield "Impact on what is recorded:"
    for impact in changed:
        for words, keys in (
            ("keys added", impact.added),
            ("keys removed", impact.removed),
            ("made, and would be orphans", impact.orphaned),
        ):
            if keys:
                yield f"  {impact.name}: {words} ({len(keys):,}): {_listed(keys)}"
        if impact.affected:
            keys = [drift.key for drift in impact.affected]
            yield f"  {impact.name}: to be made again ({len(keys):,}): {_listed(keys)}"
            yield f"    {impact.affected[0].key}: {impact.affected[0].what}"


def _listed(keys: Sequence[str]) -> str:
    if len(keys) <= _NAMED_AT_MOST:
        return ", ".join(keys)
    return f"{keys[0]} to {keys[-1]} (--json names all)"


def to_data(impacts: Sequence[AssetImpact]) -> dict[str, Any]:
    """By asset, what would change."""
    return {
        impact.name: {
            "added": list(impact.added),
            "removed": list(impact.removed),
            "orphaned": list(impact.orphaned),
            "affected": [
                {"partition": drift.key, "upstream": drift.upstream, "why": drift.what}
                for drift in impact.affected
            ],
        }
        for impact in impacts
    }
