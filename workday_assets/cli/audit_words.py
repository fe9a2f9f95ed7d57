"""The words of an audit, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from workday_assets.audit.report import AssetAudit, Audit, Finding, Kind

#: What findings of each kind are called.
KINDS: dict[Kind, str] = {
    "missing": "missing",
    "failed": "failed",
    "outdated": "outdated",
    "orphan": "orphans",
    "no partition": "no partition",
    "no file": "no file",
    "no record": "no record",
    "damaged": "damaged",
    "drift": "drift",
    "downstream": "downstream",
}
_STRETCHES_PER_KIND = 12


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring findings of one kind with the same words.

    Attributes:
        kind: their kind.
        keys: which partitions, in words.
        what: why, and by which run.
        count: how many.
    """

    kind: Kind
    keys: str
    what: str
    count: int


def scope(audit: Audit) -> str:
    """What was looked at, as a sentence."""
    span = "the whole history"
    if audit.start or audit.end:
        span = f"{audit.start or 'the first day'} to {audit.end or 'today'}"
    calendar = audit.calendar
    read = "every file read" if audit.deep else "files listed, not read (--deep reads them)"
    source = f"; source: {audit.source}" if audit.source else ""
    return (
        f"Audit of {span} at {audit.as_of:%Y-%m-%d %H:%M} UTC by calendar {calendar.name}"
        f" {calendar.fingerprint[:12]}; {read}{source}."
    )


def verdict(audit: Audit) -> str:
    """The outcome, as a sentence."""
    findings = len(audit.findings)
    expected = f"{sum(asset.expected for asset in audit.assets):,}"
    if not findings:
        return f"Nothing is wrong with {expected} expected partitions."
    return f"{counted(findings)} in {expected} expected partitions."


def counted(findings: int) -> str:
    """A number of findings."""
    return f"{findings:,} finding{'s' * (findings != 1)}"


def stretches(asset: AssetAudit) -> Iterator[Stretch]:
    """The findings on one asset by stretches; beyond some of a kind, how many more there are."""
    for kind, found in groupby(asset.findings(), key=lambda finding: finding.kind):
        alike = [list(same) for _, same in groupby(found, key=lambda f: (f.what, f.run_id))]
        for stretch in alike[:_STRETCHES_PER_KIND]:
            yield _stretch(stretch)
        more = sum(map(len, alike[_STRETCHES_PER_KIND:]))
        if more:
            yield Stretch(kind, f"{more:,} more", "--json and --csv name all", more)


def _stretch(alike: Sequence[Finding]) -> Stretch:
    first, last = alike[0], alike[-1]
    keys = first.key
    if len(alike) > 1:
        keys = f"{len(alike):,} partitions {first.key} to {last.key}"
    run = f" (run {first.run_id[:8]})" if first.run_id else ""
    return Stretch(first.kind, keys, f"{first.what}{run}", len(alike))
