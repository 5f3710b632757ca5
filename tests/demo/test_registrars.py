"""The registrars of the demo: what they hold and charge, and the command that runs them."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from builders.cli.main import main
from builders.demo.portfolio import read_domains
from builders.demo.registrars.bills import DIFFERENCES, list_held, provider_of
from builders.demo.registrars.fake import FakeServer
from builders.demo.registrars.fakes import make_fakes
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.portfolio.registrars.api_client import ApiClient
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import BilledLine
from builders.portfolio.registrars.rows import a_label
from tests import log_lines
from tests.demo.truth import list_true_charges
from tests.registrars.fakes import FAKES

TODAY = date(2028, 2, 29)


class NoPace:
    async def acquire(self) -> None:
        return


def test_the_registrars_hold_the_portfolio_but_for_the_differences() -> None:
    rows = {row.name: row for row in read_domains(TODAY)}
    held = [(provider, each.domain) for provider, each in list_held(TODAY)]
    assert len(set(held)) == len(held)
    assert {provider for provider, _ in held} <= FAKES.keys()
    different = {name for each in DIFFERENCES for name in (each.domain, each.held_as)}
    assert {each.domain for each in DIFFERENCES if each.category != "missing_in_portfolio"} <= rows.keys()
    alike = [place for place in held if place[1] not in different]
    assert all(provider == provider_of(rows[domain]) for provider, domain in alike)
    left = rows.keys() - {domain for _, domain in alike} - different
    assert all(rows[name].cells["sold"] or rows[name].cells["status"] == "dropped" for name in left)


@pytest.fixture(scope="module")
async def bills() -> AsyncIterator[Mapping[tuple[str, str, str], BilledLine]]:
    """What the adapters read of three years of bills, by provider, order and line."""
    with FakeServer() as server:
        settings = Settings.model_validate({"outbound_allow": [server.address]})
        async with Outbound(settings) as outbound:
            found: dict[tuple[str, str, str], BilledLine] = {}
            for fake in make_fakes(TODAY, kinds=FAKES):
                if not ADAPTERS[fake.provider].profile.capabilities.billing:
                    continue
                api = ApiClient(outbound=outbound, pace=NoPace(), base_url=server.add(fake))
                adapter = ADAPTERS[fake.provider](api, credentials=fake.credentials)
                async for page in adapter.list_charges(since=TODAY - timedelta(days=1200), until=TODAY):
                    found |= {(fake.provider, line.order_id, line.line_id): line for line in page}
            yield found


def test_the_truth_is_known_of_every_line_of_the_bills(
    bills: Mapping[tuple[str, str, str], BilledLine],
) -> None:
    truth = {(each.provider, each.order_id, each.line_id): each for each in list_true_charges(TODAY)}
    assert truth.keys() == bills.keys()
    for key, line in bills.items():
        assert (line.total, line.currency) == (truth[key].total, truth[key].currency), key
        assert {a_label(each) for each in line.domains if "." in each} <= set(truth[key].domains), key


def test_the_bills_are_of_every_kind(bills: Mapping[tuple[str, str, str], BilledLine]) -> None:
    truth = list_true_charges(TODAY)
    names = {row.name for row in read_domains(TODAY)}
    charges = [domain for each in truth for domain in each.domains or [""]]
    assert 990 <= len(charges) <= 1_010
    assert 500 < sum(domain in names for domain in charges) < 800
    assert {each.currency for each in truth} == {"USD", "EUR", "GBP"}
    assert sum(each.total < 0 for each in truth) == 10
    assert any(len(each.domains) > 1 and each.total % len(each.domains) for each in truth)
    lines = bills.values()
    assert any(not line.domains and line.order_id for line in lines)
    assert any(name != a_label(name) for line in lines for name in line.domains)
    assert Counter(line.kind for line in lines).keys() >= {
        "registration",
        "renewal",
        "transfer",
        "privacy",
        "tax",
        "refund",
        "other",
    }
    assert any(line.tax for line in lines)
    assert any(line.fees for line in lines)
    assert sum(line.total for line in lines) == sum((each.total for each in truth), Decimal(0))


@pytest.fixture
def environment(conninfo: str, tmp_path: Path) -> Mapping[str, str]:
    """The settings of a command."""
    return {
        "BUILDERS_DATABASE_URL": conninfo,
        "BUILDERS_DATA_DIR": str(tmp_path),
        "BUILDERS_LOG_LEVEL": "error",
        "DATABASE_URL": "",
    }


def test_the_command_runs_the_registrars_until_it_is_stopped(environment: Mapping[str, str]) -> None:
    words = [
        sys.executable,
        "-m",
        "builders",
        "demo",
        "registrars",
        "--port",
        "0",
        "--provider",
        "gandi",
        "--json",
    ]
    with subprocess.Popen(
        words, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stderr.readline()  # the note behind the result
        [found] = json.loads(os.read(process.stdout.fileno(), 10_000))
        body = found["body"]
        token = {"Authorization": f"Bearer {body['credentials']['token']}"}
        answer = httpx.get(f"{body['base_url']}/domain/domains?per_page=100&page=1", headers=token)
        assert len(answer.json()) == found["domains"] == 10
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_the_command_prints_requests_that_connect(
    environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "sigwait", lambda _: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = ["demo", "registrars", "--port", str(port), "--provider", "godaddy", "--provider", "gandi"]
        refused = CliRunner().invoke(main, words, env=environment)
    printed = CliRunner().invoke(main, words, env=environment)
    log_lines.write_errors_only()
    assert refused.exit_code == 1
    assert "Choose another port" in refused.output
    assert printed.exit_code == 0
    assert f"BUILDERS_OUTBOUND_ALLOW=127.0.0.1:{port}" in printed.output
    assert "godaddy: 40 domains, 14 orders" in printed.output
    assert f'"base_url": "http://127.0.0.1:{port}/gandi/v5"' in printed.output
