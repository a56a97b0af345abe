"""Prometheus as the guide configures it, asked of two web services on one machine that the units start."""

import re
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.conftest import environment_of_servers
from tests.servers import ROOT, free_port, unit_command, unit_environment
from tests.site import wait_until

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]
TOKEN = "a token of the metrics"


class Web:
    """One web service, started by the line of its unit."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port = port
        environment = (
            environment_of_servers()
            | unit_environment("concord-web@", str(port))
            | {
                "METRICS_TOKEN": TOKEN,
                "HTTPS": "1",
                "SITE_URL": "https://concord.example.org",
                "DATA_DIR": str(folder),
                "WEB_PROCESSES": "2",
            }
        )
        environment.pop("PORT", None)
        with (folder / f"{port}.log").open("wb") as log:
            self.process = subprocess.Popen(
                unit_command("concord-web@", str(port)), cwd=ROOT, env=environment, stdout=log, stderr=log
            )
        wait_until(lambda: self.ask("healthz", f"127.0.0.1:{port}")[0] == 200, "it answers")

    def ask(self, path: str, host: str) -> tuple[int, str]:
        headers = {"Host": host, "Authorization": f"Bearer {TOKEN}", "X-Forwarded-Proto": "https"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""
        except OSError:
            return 0, ""

    def n_visits(self, host: str) -> float:
        """How many visits to the sign-in page this service has counted, when it is asked by this name."""
        status, said = self.ask("metrics", host)
        assert status == 200
        found = re.findall(r'^django_http_requests_total_by_view_\S+\{.*view="sign_in"\} (\S+)$', said, re.MULTILINE)
        return float(found[0]) if found else 0.0

    def visit(self, n_times: int) -> None:
        for _ in range(n_times):
            assert self.ask("sign-in/", "concord.example.org")[0] == 200

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(40)


def targets_of_the_guide() -> list[str]:
    """Addresses that the scrape configuration of the guide names, and one as compose's network has it."""
    told = (ROOT / "docs/operators.md").read_text()
    block = re.findall(r"```\n(scrape_configs:.+?)```", told, re.DOTALL)[0]
    (job,) = YAML(typ="safe").load(block)["scrape_configs"]
    assert job["metrics_path"] == "/metrics" and job["authorization"] == {"credentials": "THE-TOKEN"}
    assert "port: 8000" in block
    return [*job["static_configs"][0]["targets"], "172.18.0.5:8000", "web:8000"]


def test_each_of_two_services_counts_its_own_and_answers_prometheus_by_every_name(tmp_path: Path) -> None:
    webs = [Web(free_port(), tmp_path)]
    try:
        webs[0].visit(7)
        webs.append(Web(free_port(), tmp_path))
        webs[1].visit(3)
        for host in targets_of_the_guide():
            assert [web.n_visits(host) for web in webs] == [7, 3]
            assert all(web.ask(path, host)[0] == 200 for web in webs for path in ("healthz", "readyz"))
        assert webs[0].ask("sign-in/", "web:8000")[0] == 400
        webs.pop().stop()
        assert webs[0].n_visits("127.0.0.1:8001") == 7
    finally:
        for web in webs:
            web.stop()
    assert not list(Path("/dev/shm").glob(f"*-{webs[0].process.pid}"))
