"""The `workday-assets` command: one module per command, nothing heavy imported before it runs."""

from __future__ import annotations

from typing import Any

import click

from workday_assets.cli.audit import audit
from workday_assets.cli.backfill import backfill
from workday_assets.cli.calendar import calendar
from workday_assets.cli.freeze import diff, freeze
from workday_assets.cli.next import next_
from workday_assets.cli.plan import plan
from workday_assets.cli.why import why
from workday_assets.errors import WorkdayAssetsError


class _Refusal(click.ClickException):
    exit_code = 2


class _Commands(click.Group):
    """Turns the package's own errors into one sentence and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WorkdayAssetsError as error:
            raise _Refusal(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="workday-assets")
def main() -> None:
    """Business-day data pipelines on Dagster, right to the day.

    Exit codes: 0 done, 1 something failed, 2 a bad argument or an unusable instance.
    """


main.add_command(audit)
main.add_command(backfill)
main.add_command(calendar)
main.add_command(freeze)
main.add_command(diff)
main.add_command(next_)
main.add_command(plan)
main.add_command(why)
