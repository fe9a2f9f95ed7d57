"""`workday-assets calendar`: a year of a calendar."""

from __future__ import annotations

import click


@click.command()
def calendar() -> None:
    """A year of a calendar."""
