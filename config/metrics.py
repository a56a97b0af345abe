"""Metrics for Prometheus at `/metrics`: requests of this server's processes, and shared numbers."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseProblem
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView
from django_prometheus.middleware import PrometheusAfterMiddleware
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from config import health, heartbeats, operator_queries


class RequestCounter(PrometheusAfterMiddleware):
    """Counts requests by view; a method that nobody knows is one label and not as many as someone invents."""

    def label_metric(self, metric: Any, request: Any, response: Any = None, **labels: Any) -> Any:
        if "method" in labels:
            labels["method"] = self._method(request)
        return super().label_metric(metric, request, response, **labels)


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """The figures, for who has METRICS_TOKEN; for others there is nothing here."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
    if not settings.METRICS_TOKEN or not constant_time_compare(given, settings.METRICS_TOKEN):
        raise Http404
    registry = CollectorRegistry(auto_describe=False)
    registry.register(SharedMetrics())
    answer: HttpResponse = ExportToDjangoView(request)
    answer.content = answer.content + generate_latest(registry)
    return answer


class SharedMetrics:
    """State of the whole installation, read from PostgreSQL and Redis at each look; the same from every process."""

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("concord_up", "Whether a part answers.", labels=["part"])
        states = health.states()
        for part, said in states.items():
            up.add_metric([part], float(said == health.OK))
        yield up
        alive = GaugeMetricFamily("concord_processes", "Processes heard of within two minutes.", labels=["kind"])
        heard = heartbeats.pulses() or []
        for kind in heartbeats.KINDS:
            alive.add_metric([kind], sum(each.kind == kind and each.is_alive for each in heard))
        yield alive
        if (length := heartbeats.queue_length()) is not None:
            yield GaugeMetricFamily("concord_queue_length", "Messages that wait for a worker.", value=length)
        yield from self._tasks()
        if states["database"] == health.OK:
            with suppress(DatabaseProblem):
                yield from self._jobs()

    def _tasks(self) -> Iterator[Metric]:
        n = CounterMetricFamily("concord_tasks", "Finished tasks.", labels=["task", "state"])
        seconds = CounterMetricFamily("concord_task_seconds", "Seconds that they took.", labels=["task", "state"])
        for (what, state, task), value in heartbeats.task_counts().items():
            (n if what == "n" else seconds).add_metric([task, state], value)
        yield n
        yield seconds

    def _jobs(self) -> Iterator[Metric]:
        count = GaugeMetricFamily(
            "concord_jobs", "Jobs that are not over, and failed of a week.", labels=["kind", "state"]
        )
        age = GaugeMetricFamily("concord_oldest_job_seconds", "Age of the oldest job.", labels=["kind", "state"])
        for each in operator_queries.job_counts():
            count.add_metric([each.kind, each.state], each.n)
            if each.oldest:
                age.add_metric([each.kind, each.state], max(0.0, time.time() - each.oldest.timestamp()))
        yield count
        yield age
