import asyncio
import json
from collections.abc import Iterator
from queue import Queue
from threading import Thread

import pytest

from builders.kit.values import ids
from tests.cli.conftest import Cli
from tests.domains.nameserver import serving


def fresh() -> str:
    """Return an unused domain."""
    return f"shop-{ids.new().hex}.example"


def test_a_domain_is_assigned_listed_and_unassigned(builders: Cli, account: str) -> None:
    domain = fresh()

    given = builders("domains", "assign", domain, "--account", account, "--source", "leased")
    listed = builders("domains", "list", "--account", account)
    taken = builders("domains", "unassign", domain)

    assert given.stdout == f"{domain} is live for {account} (leased).\n"
    assert listed.stdout.split()[-1] == domain
    assert taken.stdout == f"{domain} is not assigned.\n"
    assert builders("domains", "list", "--account", account, "--status", "live").stdout == "No domains.\n"


def test_the_json_output(builders: Cli, account: str) -> None:
    domain = fresh()

    given = json.loads(
        builders("domains", "assign", domain, "--account", account, "--source", "consigned", "--json").stdout
    )
    [listed] = json.loads(builders("domains", "list", "--account", account, "--json").stdout)
    taken = json.loads(builders("domains", "unassign", domain, "--json").stdout)

    assert given == listed
    assert (given["domain"], given["status"], given["source"], given["method"]) == (
        domain,
        "live",
        "consigned",
        "operator",
    )
    assert given["dns"] == dict.fromkeys(("mx", "spf", "dkim", "dmarc"), "unchecked")
    assert taken["status"] == "released"


def test_a_refusal_has_a_next_action(builders: Cli, account: str) -> None:
    domain, other = fresh(), f"{ids.new().hex}@builders.example"
    assert builders("accounts", "create", "--email", other).exit_code == 0
    builders("domains", "assign", domain, "--account", account, "--source", "leased")

    refused = builders("domains", "assign", domain, "--account", other, "--source", "leased")

    assert refused.exit_code == 1
    assert refused.stderr == f"Error: Another account has {domain}.\nbuilders domains unassign {domain}\n"


def test_invalid_input_is_refused(builders: Cli, account: str) -> None:
    wrong = builders("domains", "assign", "localhost", "--account", account, "--source", "leased")
    unknown = builders("domains", "assign", fresh(), "--account", account, "--source", "catalog")
    nobody = builders("domains", "unassign", fresh())

    assert [each.exit_code for each in (wrong, unknown, nobody)] == [1, 1, 1]
    assert "Not a domain" in wrong.output
    assert "The catalog has no domain" in unknown.output
    assert "No account holds" in nobody.output
    assert builders("domains", "unassign", "localhost").exit_code == 1
    assert builders("domains", "assign", fresh(), "--account", account, "--source", "stolen").exit_code == 2


def test_the_records_of_a_domain_are_lines_of_a_zone_with_its_next_key(
    builders: Cli, account: str, plain_environment: pytest.MonkeyPatch
) -> None:
    plain_environment.setenv("BUILDERS_MAIL_HOSTS", "mx1.builders.example")
    domain = fresh()
    builders("domains", "assign", domain, "--account", account, "--source", "leased")

    made = builders("domains", "rotate", domain).stdout
    listed = builders("domains", "records", domain).stdout

    assert made.startswith("b20")
    assert listed.splitlines()[:3] == [
        f"{domain}. IN MX 10 mx1.builders.example.",
        f'{domain}. IN TXT "v=spf1 mx ~all"',
        f'_dmarc.{domain}. IN TXT "v=DMARC1; p=none"',
    ]
    assert listed.endswith(made)
    assert all(len(each) <= 255 for each in listed.split('"'))
    assert "PRIVATE" not in made


@pytest.fixture
def nameserver() -> Iterator[str]:
    """Run a name server without records beside the command, which has a loop of its own; return its address."""
    loop, started, ending = asyncio.new_event_loop(), Queue[str](), asyncio.Event()

    async def run() -> None:
        async with serving() as server:
            started.put(server.address)
            await ending.wait()

    thread = Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    yield started.get()
    loop.call_soon_threadsafe(ending.set)
    thread.join()
    loop.close()


def test_missing_records_are_shown_and_fail_the_check(
    builders: Cli, account: str, plain_environment: pytest.MonkeyPatch, nameserver: str
) -> None:
    domain = fresh()
    builders("domains", "assign", domain, "--account", account, "--source", "leased")
    plain_environment.setenv("BUILDERS_DNS_RESOLVERS", nameserver)

    checked = builders("domains", "check", domain)

    assert checked.exit_code == 1
    assert (
        f'{domain}  dmarc  missing Set a TXT record at _dmarc.{domain} with the value "v=DMARC1' in checked.stdout
    )


def test_a_domain_without_mail_of_the_service_is_refused(builders: Cli) -> None:
    refused = builders("domains", "rotate", "elsewhere.example")

    assert refused.exit_code == 1
    assert refused.stderr == "Error: The service receives no mail for elsewhere.example.\n"
