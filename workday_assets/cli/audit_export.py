"""An audit as data: a line per partition with its run, its time and its calendar."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import click

from workday_assets.audit.completeness import Partition
from workday_assets.audit.report import AssetAudit, Audit

COLUMNS = (
    "asset",
    "partition",
    "state",
    "why",
    "run_id",
    "materialized_at",
    "calendar",
    "fingerprint",
    "rows",
    "sha256",
    "findings",
)


def to_csv(audit: Audit) -> str:
    """A header and a line per partition; several findings are separated by semicolons."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for asset in audit.assets:
        for row in rows(asset):
            findings = "; ".join(f"{kind}: {what}" for kind, what in row["findings"])
            writer.writerow({"asset": asset.name, **row, "findings": findings})
    return text.getvalue()


def to_json(audit: Audit, where: str) -> str:
    """The whole audit."""
    calendar = audit.calendar
    data = {
        "instance": where,
        "as_of": audit.as_of.isoformat(),
        "from": str(audit.start) if audit.start else None,
        "to": str(audit.end) if audit.end else None,
        "deep": audit.deep,
        "source": audit.source,
        "calendar": {"name": calendar.name, "fingerprint": calendar.fingerprint},
        "assets": {asset.name: _asset(asset) for asset in audit.assets},
        "findings": [
            {
                "asset": finding.asset,
                "partition": finding.key or None,
                "kind": finding.kind,
                "what": finding.what,
                "run_id": finding.run_id,
            }
            for finding in audit.findings
        ],
    }
    return json.dumps(data, indent=1)


def _asset(asset: AssetAudit) -> dict[str, Any]:
    return {
        "expected": asset.expected,
        "materialized": asset.materialized,
        "files_checked": asset.files is not None,
        "findings": dict(sorted(asset.counts().items())),
        "partitions": [
            {**row, "findings": [kind for kind, _ in row["findings"]]} for row in rows(asset)
        ],
    }


def rows(asset: AssetAudit) -> list[dict[str, Any]]:
    """One mapping per partition, oldest first; `findings` are (kind, what)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for finding in asset.findings():
        found.setdefault(finding.key, []).append((finding.kind, finding.what))
    listed = [_row(partition, found.pop(partition.key, [])) for partition in asset.partitions]
    # A file that nobody recorded has no partition among those.
    listed += [_unknown(key, kinds) for key, kinds in found.items()]
    return listed


def _row(partition: Partition, findings: list[tuple[str, str]]) -> dict[str, Any]:
    record = partition.record
    return {
        "partition": partition.key,
        "state": partition.state,
        "why": partition.why,
        "run_id": partition.run_id or None,
        "materialized_at": record.made_at.isoformat(timespec="seconds") if record else None,
        "calendar": record.calendar if record else None,
        "fingerprint": record.fingerprint if record else None,
        "rows": record.rows if record else None,
        "sha256": record.sha256 if record else None,
        "findings": findings,
    }


def _unknown(key: str, findings: list[tuple[str, str]]) -> dict[str, Any]:
    row = dict.fromkeys(COLUMNS[1:-1])
    return {**row, "partition": key, "state": "unknown", "findings": findings}


def write_page(path: Path, audit: Audit) -> None:
    """Write the page with the heat-map."""
    from workday_assets.cli.audit_html import render

    try:
        path.write_text(render(audit), encoding="utf-8")
    except OSError as error:
        raise click.BadParameter(
            f"{path} cannot be written ({error.strerror}); name a file in an existing folder.",
            param_hint="--html",
        ) from error
