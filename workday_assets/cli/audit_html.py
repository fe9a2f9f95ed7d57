"""An audit as one self-contained page: the outcome, a heat-map per asset, then the findings."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from workday_assets.audit.report import AssetAudit, Audit
from workday_assets.cli import audit_map
from workday_assets.cli import audit_words as words
from workday_assets.partitions import WorkdayPartitionsDefinition

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<h1>{title}</h1>
<p class="verdict {outcome}">{verdict}</p>
<p class="scope">{scope}</p>
<ul class="legend">
{legend}
</ul>
<main class="maps">
{maps}
</main>
<div class="lists">
{summary}
{findings}
</div>
</body>
</html>
"""


def render(audit: Audit) -> str:
    """The page, which refers to nothing outside itself."""
    maps = [_map(asset, f"map{at}") for at, asset in enumerate(audit.assets)]
    return _PAGE.format(
        title=escape(f"Audit by the {audit.calendar.name} calendar"),
        style=files(__package__).joinpath("audit.css").read_text("utf-8"),
        outcome="bad" if audit.findings else "good",
        verdict=escape(words.verdict(audit)),
        scope=escape(words.scope(audit)),
        legend="\n".join(map(_legend_item, audit_map.LEGEND)),
        maps="\n".join(maps),
        summary=_summary(audit),
        findings="\n".join(filter(None, map(_section, audit.assets))),
    )


def _legend_item(status: audit_map.Status) -> str:
    mark = audit_map.mark(status, 1, 1.5, 4.2, 7.8)
    label = escape(audit_map.LEGEND[status])
    return f'<li><svg viewBox="0 0 6.2 10.8" aria-hidden="true">{mark}</svg>{label}</li>'


def _map(asset: AssetAudit, name: str) -> str:
    days = isinstance(asset.dates, WorkdayPartitionsDefinition)
    missing = asset.expected - asset.materialized
    counts = f"{asset.materialized:,} of {asset.expected:,} {'workdays' if days else 'periods'}"
    if missing:
        counts += f", {missing:,} not materialized"
    drawn = audit_map.svg(asset, audit_map.Layout.of(asset), name)
    return (
        f'<section class="map" id="{name}">\n<h2>{escape(asset.name)}<span>{counts}</span>'
        f"</h2>\n{drawn}\n</section>"
    )


def _summary(audit: Audit) -> str:
    counts = [asset.counts() for asset in audit.assets]
    shown = [kind for kind in words.KINDS if any(count[kind] for count in counts)]
    heading = "".join(
        f'<th scope="col" class="number">{label}</th>'
        for label in ("expected", "materialized", *(words.KINDS[kind] for kind in shown))
    )
    lines = []
    for asset, count in zip(audit.assets, counts, strict=True):
        cells = f'<td class="number">{asset.expected:,}</td>'
        cells += f'<td class="number">{asset.materialized:,}</td>'
        for kind in shown:
            wrong = f"{count[kind]:,}" if count[kind] else ""
            cells += f'<td class="number wrong">{wrong}</td>'
        lines.append(f'<tr><th scope="row">{escape(asset.name)}</th>{cells}</tr>')
    rows = "\n".join(lines)
    return (
        f'<section>\n<h2>Partitions</h2>\n<table class="summary">\n<thead><tr>'
        f'<th scope="col">Asset</th>{heading}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>'
        "\n</section>"
    )


def _section(asset: AssetAudit) -> str:
    rows = "\n".join(
        f"<tr><td>{found.kind}</td><td>{escape(found.keys)}</td><td>{escape(found.what)}</td></tr>"
        for found in words.stretches(asset)
    )
    if not rows:
        return ""
    total = sum(asset.counts().values())
    return (
        f"<section>\n<h2>{escape(asset.name)}<span>{words.counted(total)}</span></h2>\n<table>\n"
        '<thead><tr><th scope="col">Kind</th><th scope="col">Partition</th>'
        f'<th scope="col">Why</th></tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</section>'
    )
