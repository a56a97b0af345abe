"""What is started on servers: compose, the units of systemd and the files of the proxies agree with each other."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from config.gunicorn import Worker, limit_request_line

ROOT = Path(__file__).resolve().parents[2]
UNITS = sorted((ROOT / "deploy/systemd").glob("concord*"))


@pytest.fixture
def services() -> dict[str, dict]:
    return YAML(typ="safe").load(ROOT / "docker-compose.yml")["services"]


def test_compose_has_two_web_processes_three_workers_and_one_clock(services: dict[str, dict]) -> None:
    n_of = {name: service.get("deploy", {}).get("replicas", 1) for name, service in services.items()}
    assert n_of == {"migrate": 1, "web": 2, "proxy": 1, "worker": 3, "beat": 1, "postgres": 1, "redis": 1}


def test_compose_opens_the_proxy_alone_and_on_the_loopback_address(services: dict[str, dict]) -> None:
    assert {name: service["ports"] for name, service in services.items() if "ports" in service} == {
        "proxy": ["${BIND:-127.0.0.1}:${PORT:-8000}:8000"]
    }


def test_every_variable_of_compose_is_explained() -> None:
    told = (ROOT / ".env.example").read_text()
    files = [ROOT / "docker-compose.yml", ROOT / "deploy/compose.domain.yml"]
    asked = {name for file in files for name in re.findall(r"(?<!\$)\$\{(\w+)", file.read_text())}
    assert asked and not {name for name in asked if f"\n#{name}=" not in told}


def test_what_compose_and_the_image_copy_is_there(services: dict[str, dict]) -> None:
    copied = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    mounted = [volume.split(":")[0] for volume in services["proxy"]["volumes"] if volume.startswith("./")]
    assert copied and mounted
    assert all((ROOT / name).exists() for line in copied + mounted for name in line.split())


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_belongs_to_the_target_and_starts_what_the_guide_installs(unit: Path) -> None:
    told = unit.read_text()
    if unit.suffix == ".service":
        assert "WantedBy=concord.target" in told and "PartOf=concord.target" in told
        assert re.search(r"^ExecStart=/srv/concord/app/\.venv/bin/(gunicorn|celery) ", told, re.MULTILINE)
    assert unit.stem.removesuffix("@") in (ROOT / "docs/operators.md").read_text()


@pytest.mark.parametrize("unit", [unit for unit in UNITS if unit.suffix == ".service"], ids=lambda unit: unit.name)
def test_a_unit_writes_files_for_its_own_user_alone(unit: Path) -> None:
    assert "\nUMask=0077\n" in unit.read_text()


def test_an_address_that_is_too_long_is_refused_in_words_by_every_proxy_and_by_gunicorn_itself() -> None:
    assert limit_request_line == 8190 and Worker.handle_error
    assert "large_client_header_buffers 4 8k;" in (ROOT / "deploy/nginx/concord.conf").read_text()
