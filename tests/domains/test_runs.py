"""Runs of the job that checks domains: isolation of failures, limits, concurrent changes."""

from typing import Any

import pytest

from builders.app import Service
from builders.domains import verification
from builders.domains.records import FIRST_CHECK, AccountDomain, DnsCheck
from builders.kit.values import clock
from tests.cast import Person
from tests.catalog.make import fresh
from tests.domains.make import PATH, add, assign, check_due, make_live, prove
from tests.domains.nameserver import Nameserver
from tests.domains.test_jobs import status


async def test_the_failure_of_one_domain_delays_no_other(
    alice: Person, bob: Person, service: Service, dns: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = await add(alice, fresh()), await add(bob, fresh())
    prove(dns, good)
    check = verification.check_dns

    async def fail(dns: Any, domain: AccountDomain, **options: Any) -> DnsCheck:
        if domain.domain == bad["domain"]:
            raise ValueError("of this one")
        return await check(dns, domain, **options)

    monkeypatch.setattr(verification, "check_dns", fail)
    clock.move(FIRST_CHECK)
    with pytest.raises(ValueError, match="of this one"):
        await check_due(service, batch_size=1)

    assert await status(bob, good) == "live"


async def test_a_long_run_claims_no_more_domains(
    alice: Person, service: Service, dns: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = [await add(alice, fresh()) for _ in range(2)]
    for each in added:
        prove(dns, each)
    check = verification.check_dns

    async def slow(*args: Any, **options: Any) -> DnsCheck:
        clock.move(verification.MAX_RUN)
        return await check(*args, **options)

    monkeypatch.setattr(verification, "check_dns", slow)
    clock.move(FIRST_CHECK)
    await check_due(service, batch_size=1)
    assert [await status(alice, each) for each in added].count("live") == 1

    await check_due(service, batch_size=1)
    assert [await status(alice, each) for each in added].count("live") == 2


async def test_a_domain_assigned_during_a_check_has_no_lost_proof(
    alice: Person, service: Service, dns: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = await make_live(alice, dns, fresh())
    dns.clear()
    check = verification.check_dns

    async def meanwhile(*args: Any, **options: Any) -> DnsCheck:
        await assign(service, alice, live["domain"])
        return await check(*args, **options)

    monkeypatch.setattr(verification, "check_dns", meanwhile)
    found = (await alice.post(f"{PATH}/{live['id']}/verify")).json()

    assert (found["verification"]["method"], found["verification"]["lost_at"]) == ("operator", None)
