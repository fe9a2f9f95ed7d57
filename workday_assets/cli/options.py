"""Options that several commands share."""

from __future__ import annotations

from datetime import date
from typing import Any

import click

from workday_assets.calendars.conventions import parse_date
from workday_assets.errors import InvalidInputError


class DateType(click.ParamType):  # type: ignore[type-arg]  # generic only from click 8.4 on
    """A date as YYYY-MM-DD."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """The date, or a usage error that names the option."""
        try:
            return parse_date(value, param.human_readable_name if param else "date")
        except InvalidInputError as error:
            self.fail(str(error), param, ctx)


json_option = click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
