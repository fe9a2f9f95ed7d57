"""A sensor that tells people of incidents: once when one begins, once when it is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from itertools import chain

import dagster as dg
from dagster._core.definitions.partitions.context import partition_loading_context

from workday_assets.alerts.conditions import LateDays, calendars_that_end, sources_that_are_down
from workday_assets.alerts.failures import Failures
from workday_assets.alerts.incidents import Alert, Incident, OpenIncidents, Send
from workday_assets.automation.freshness import freshness_specs
from workday_assets.calendars import WorkdayCalendar
from workday_assets.errors import AlertNotSentError, InvalidInputError


def build_alert_sensor(
    send: Send,
    *,
    name: str = "workday_alerts",
    freshness: Sequence[dg.AssetChecksDefinition] = (),
    calendars: Sequence[WorkdayCalendar] = (),
    calendar_days: int = 90,
    sources: Sequence[str] = (),
    retry_failed: int = 0,
    minimum_interval_seconds: int = 60,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.RUNNING,
) -> dg.SensorDefinition:
    """A sensor that sends one message when an incident begins and one when it is over.

    An incident is a run that failed and is not tried again (until what it left out is made), a day
    that a freshness check calls late (until it is there, of all assets), a calendar that ends
    soon, or a source that answers with an error. A late day whose run is known to have failed is
    no second incident.

    A message that cannot be sent fails the tick, and the next one sends it; nothing else waits for
    it. One is sent twice only if the process dies between sending it and writing that down: both
    have the same `Alert.key`.

    Args:
        send: sends an `Alert`, or raises; see `workday_assets.alerts.sinks`. For several sinks
            build several sensors, so that none waits for another.
        name: the sensor's name; open incidents are kept under it.
        freshness: checks from `build_workday_freshness_checks` whose late days are told.
        calendars: calendars whose end is told.
        calendar_days: so many days before.
        sources: resource keys of `WorkdaySource` resources whose errors are told.
        retry_failed: the same number as for the sensors that request runs: theirs are told only
            when their attempts are more. Runs that others launched are told at once, after
            Dagster's own retries.
        minimum_interval_seconds: time between ticks.
        default_status: running by default.

    Raises:
        InvalidInputError: `retry_failed` or `calendar_days` is negative, or one of `freshness` is
            another check.
    """
    for parameter, value in (("retry_failed", retry_failed), ("calendar_days", calendar_days)):
        if value < 0:
            raise InvalidInputError(f"{parameter}={value} is negative; give 0 or more.")
    checks = [spec.key for spec in freshness_specs(freshness, "freshness")]

    def evaluate(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        if context.repository_def is None:
            raise RuntimeError("the evaluation context has no repository; pass repository_def")
        with partition_loading_context() as loading:
            now = loading.effective_dt
        origin = context.code_location_origin
        location = origin.location_name if origin is not None else ""
        watch = _Watch(
            OpenIncidents(context.instance, name, location),
            Failures(context.instance, context.repository_def, location, retry_failed, now),
            LateDays(context.instance, checks),
            [
                *calendars_that_end(calendars, now.astimezone(UTC).date(), calendar_days),
                *sources_that_are_down(
                    {key: getattr(context.resources, key) for key in sources},
                    now.astimezone(UTC).date(),
                ),
            ],
        )
        return dg.SkipReason(watch.tell(send))

    return dg.SensorDefinition(
        name=name,
        evaluation_fn=evaluate,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description="Sends one message when something is wrong and one when it is over.",
        required_resource_keys=set(sources),
    )


@dataclass(frozen=True)
class _Watch:
    """One tick: what is open, and what is wrong now."""

    known: OpenIncidents
    failures: Failures
    late: LateDays
    conditions: Sequence[Incident]

    def tell(self, send: Send) -> str:
        """Send what is new and what is over, write down each message, and say what was sent.

        Raises:
            AlertNotSentError: a message could not be sent; it and those after it were not.
        """
        told = []
        for alert in self._alerts():
            try:
                send(alert)
            except Exception as error:
                raise AlertNotSentError(alert.title, error) from error
            if alert.cleared:
                self.known.remove(alert.incident.id)
            else:
                self.known.add(alert.incident)
            told.append(alert.title)
        return f"{'; '.join(told) or 'Nothing new'}. Open incidents: {len(self.known)}."

    def _alerts(self) -> Iterator[Alert]:
        """The messages that are due; what `known` says is read again for each."""
        now = {incident.id for incident in self.conditions}
        for incident in self.known.of("run_failed"):
            if self.failures.is_over(incident):
                yield Alert(incident, cleared=True)
        for incident in self.known.of("late"):
            if self.late.is_over(incident):
                yield Alert(incident, cleared=True)
        for incident in self.known.of("calendar_ends", "source_down"):
            if incident.id not in now:
                yield Alert(incident, cleared=True)
        for incident in chain(self.failures.new(self.known), self._late(), self.conditions):
            if incident.id not in self.known:
                yield Alert(self.known.numbered(incident), cleared=False)

    def _late(self) -> Iterator[Incident]:
        """The late days, without the assets of which a failed run was told."""
        for incident in self.late.now():
            day = incident.partitions[0]
            untold = [asset for asset in incident.assets if not self.known.covers((asset, day))]
            if incident.id in self.known:
                self.known.widen(incident.id, untold)
            elif untold:
                yield replace(incident, assets=tuple(untold))
