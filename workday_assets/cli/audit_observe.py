"""The outcome of an audit on the assets' own pages in Dagster."""

from __future__ import annotations

import base64
from importlib.resources import files
from pathlib import Path
from typing import Any

import dagster as dg

from workday_assets.audit.report import AssetAudit, Audit
from workday_assets.cli import audit_map
from workday_assets.cli import audit_words as words

#: What Dagster's dialog shows on a laptop's screen without cutting it.
_WIDTH = 1090


def observe(instance: dg.DagsterInstance, audit: Audit, page: Path | None) -> None:
    """Record an observation of each asset: its numbers, its findings, its heat-map, the page."""
    for asset in audit.assets:
        instance.report_runless_asset_event(
            dg.AssetObservation(asset.key, metadata=_metadata(audit, asset, page))
        )


def _metadata(audit: Audit, asset: AssetAudit, page: Path | None) -> dict[str, Any]:
    found = [f"- {s.kind} {s.keys}: {s.what}" for s in words.stretches(asset)]
    metadata: dict[str, Any] = {
        "audit/scope": words.scope(audit),
        "audit/expected": asset.expected,
        "audit/materialized": asset.materialized,
        "audit/findings": dg.MetadataValue.md("\n".join(found) or "Nothing is wrong."),
        "audit/map": picture(asset),
    }
    if page is not None:
        metadata["audit/page"] = dg.MetadataValue.path(str(page.resolve()))
    return metadata


def picture(asset: AssetAudit) -> dg.MarkdownMetadataValue:
    """The heat-map inside its own address, so that no server has to keep it: 50 kB at most."""
    style = files(__package__).joinpath("audit.css").read_text("utf-8")
    layout = audit_map.Layout.of(asset)
    drawn = audit_map.svg(asset, layout, "map")
    scale = min(1, _WIDTH / layout.width)
    text = (
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif"'
        f' width="{round(layout.width * scale)}" height="{round(layout.height * scale)}"'
        f' viewBox="0 0 {layout.width} {layout.height}"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="var(--paper)"/><g class="map">{drawn}</g></svg>'
    )
    encoded = base64.b64encode(text.encode()).decode()
    return dg.MetadataValue.md(f"![heat-map](data:image/svg+xml;base64,{encoded})")
