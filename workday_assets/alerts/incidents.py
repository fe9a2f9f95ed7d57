"""Incidents that are open, kept in the instance, and the messages about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import dagster as dg

Kind = Literal["run_failed", "late", "calendar_ends", "source_down"]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that is wrong until it is repaired.

    Attributes:
        id: tells it from every other one, for example ``late 2026-12-01``.
        kind: what is wrong.
        title: one line.
        text: sentences: what, since when, what to look at.
        assets: the assets concerned, slash-separated.
        partitions: their partitions concerned.
        number: counts the incidents that a sensor told; the same thing can happen again.
    """

    id: str
    kind: Kind
    title: str
    text: str
    assets: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    number: int = 0

    def covers(self, pair: Pair) -> bool:
        """Whether an (asset, partition) is among those concerned."""
        return pair[0] in self.assets and pair[1] in self.partitions


@dataclass(frozen=True, slots=True)
class Alert:
    """A message: an incident has begun, or is over.

    Attributes:
        incident: the same in both messages.
        cleared: whether it is over.
    """

    incident: Incident
    cleared: bool

    @property
    def key(self) -> str:
        """The same when this message is sent twice, and another one of every other message."""
        state = "cleared" if self.cleared else "open"
        return f"{self.incident.id}, incident {self.incident.number}, {state}"

    @property
    def title(self) -> str:
        """One line for a subject or a chat."""
        return f"Cleared: {self.incident.title}" if self.cleared else self.incident.title

    @property
    def text(self) -> str:
        """What it says."""
        return f"It is over. It was: {self.incident.text}" if self.cleared else self.incident.text


Send = Callable[[Alert], None]


class OpenIncidents:
    """The incidents that were told and are not over; written at once, so that a crash keeps them.

    They are in the instance's database and not in the sensor's cursor, which a failed tick loses.

    Args:
        instance: where they are kept.
        name: of the sensor that they belong to.
        location: the code location of that sensor, empty where there is none: others can have a
            sensor of the same name.
    """

    def __init__(self, instance: dg.DagsterInstance, name: str, location: str = "") -> None:
        self._storage = instance.run_storage
        self._key = f"workday_assets/alerts/{location}/{name}"
        stored = self._storage.get_cursor_values({self._key}).get(self._key)
        found: dict[str, Any] = json.loads(stored) if stored else {"told": 0, "open": []}
        self._told: int = found["told"]
        self._open = {incident.id: incident for incident in map(_incident, found["open"])}

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, incident_id: str) -> bool:
        return incident_id in self._open

    def of(self, *kinds: Kind) -> list[Incident]:
        """The open incidents of these kinds, oldest first."""
        return [incident for incident in self._open.values() if incident.kind in kinds]

    def covers(self, pair: Pair) -> bool:
        """Whether a failure of this (asset, partition) was told."""
        return any(incident.covers(pair) for incident in self.of("run_failed"))

    def numbered(self, incident: Incident) -> Incident:
        """A new incident with its number."""
        return replace(incident, number=self._told + 1)

    def add(self, incident: Incident) -> None:
        """Keep a new incident that was told."""
        self._open[incident.id] = incident
        self._told = incident.number
        self._save()

    def widen(self, incident_id: str, assets: Iterable[str]) -> None:
        """Keep that an open incident concerns more assets."""
        known = self._open[incident_id]
        wider = tuple(sorted({*known.assets, *assets}))
        if wider != known.assets:
            self._open[incident_id] = replace(known, assets=wider)
            self._save()

    def remove(self, incident_id: str) -> None:
        """Forget an incident that is over."""
        del self._open[incident_id]
        self._save()

    def _save(self) -> None:
        found = {"told": self._told, "open": [asdict(each) for each in self._open.values()]}
        self._storage.set_cursor_values({self._key: json.dumps(found)})


def _incident(stored: dict[str, Any]) -> Incident:
    lists = {name: tuple(stored[name]) for name in ("assets", "partitions")}
    return Incident(**{**stored, **lists})
