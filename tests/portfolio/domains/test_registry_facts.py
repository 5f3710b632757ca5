"""Which data of a registry a domain takes: never in place of what its holder or a registrar gave."""

import json
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from builders.portfolio.domains import rdap
from builders.portfolio.domains.rdap import RegistryFacts
from builders.portfolio.domains.records import Domain, ExpirySource
from builders.portfolio.domains.today import Today
from tests.portfolio.domains.test_rdap import read

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MOMENTS = st.none() | st.sampled_from([NOW, datetime(2190, 3, 1, tzinfo=UTC), datetime(2191, 3, 1, tzinfo=UTC)])
FACTS = st.builds(
    RegistryFacts,
    expires_at=MOMENTS,
    registered_at=MOMENTS,
    transferred_at=MOMENTS,
    registrar=st.sampled_from([None, "Porkbun", "Gandi"]),
    statuses=st.lists(st.sampled_from(["ok", "clientTransferProhibited", "clientHold"]), unique=True),
    nameservers=st.lists(st.sampled_from(["ns1.example.com", "ns2.example.com"]), unique=True),
)
OWN: dict[str, Any] = {
    "registrar": st.sampled_from([None, "Porkbun", "Mine"]),
    "registered_on": st.sampled_from([None, date(2026, 1, 1), date(2001, 1, 1)]),
    "locked": st.sampled_from([None, True, False]),
    "nameservers": st.sampled_from([[], ["ns1.example.com"], ["ns.mine.com"]]),
}
DOMAINS = st.builds(
    Domain,
    **OWN,
    expires_at=MOMENTS,
    expiry_source=st.sampled_from([None, *ExpirySource]),
    id=st.just(UUID(int=0)),
    domain=st.just("harbour.com"),
    unicode=st.just("harbour.com"),
    tld=st.just("com"),
    lifecycle=st.none(),
    created_at=st.just(NOW),
    updated_at=st.just(NOW),
)


@given(DOMAINS, FACTS, st.none() | FACTS)
def test_a_value_of_another_source_stays(domain: Domain, facts: RegistryFacts, last: RegistryFacts | None) -> None:
    before = {} if last is None else last.stored()
    members = rdap.patch_of(domain, facts, before=before, today=Today(NOW)).members
    for name in OWN:
        value = getattr(domain, name)
        written = value.isoformat() if isinstance(value, date) else value
        if name in members:
            assert written in (None, [], before.get(name)), name
            assert members[name] == getattr(facts, name)
    if domain.expiry_source not in {None, ExpirySource.RDAP}:
        assert members.keys().isdisjoint({"expires_at", "expiry_source"})


@given(DOMAINS, FACTS)
def test_a_registry_that_is_silent_clears_nothing(domain: Domain, facts: RegistryFacts) -> None:
    members = rdap.patch_of(domain, facts, before=facts.stored(), today=Today(NOW)).members
    assert None not in members.values()
    assert [] not in members.values()
    assert ("expiry_source" in members) == ("expires_at" in members)


@pytest.mark.parametrize(
    ("written", "status"),
    [
        ("active", "ok"),
        ("associated", "linked"),
        ("client delete prohibited", "clientDeleteProhibited"),
        ("Server Hold", "serverHold"),
        (" pending delete ", "pendingDelete"),
        ("redemption period", "redemptionPeriod"),
    ],
)
def test_a_status_is_written_as_epp_names_it(written: str, status: str) -> None:
    assert read(status=[written]).statuses == [status]


@pytest.mark.parametrize("written", ["", "clientHold1", "a b c d e f g", "<b>", 7, None, ["active"]])
def test_what_is_no_status_is_left_out(written: Any) -> None:
    assert read(status=[written, "active"]).statuses == ["ok"]


@pytest.mark.parametrize(
    ("statuses", "locked"),
    [
        (["active"], False),
        (["server transfer prohibited"], True),
        (["client update prohibited"], False),
        ([], None),
    ],
)
def test_a_transfer_lock_is_read_from_the_statuses(statuses: list[str], locked: bool | None) -> None:
    assert read(status=statuses).locked is locked


@pytest.mark.parametrize(
    ("moment", "expires_at"),
    [
        ("2190-03-01", datetime(2190, 3, 1, tzinfo=UTC)),
        (" 2190-03-01T01:00:00 ", datetime(2190, 3, 1, 1, tzinfo=UTC)),
        ("2190-03-01T01:00:00-02:00", datetime(2190, 3, 1, 3, tzinfo=UTC)),
        ("1979-12-31T00:00:00Z", None),
        ("2200-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59-14:00", None),
        ("2190-02-30", None),
        (21900301, None),
    ],
)
def test_the_moment_of_an_event_is_in_utc(moment: Any, expires_at: datetime | None) -> None:
    assert read(events=[{"eventAction": "Expiration", "eventDate": moment}]).expires_at == expires_at


def test_the_lists_of_an_answer_are_cut_at_what_a_domain_can_hold() -> None:
    found = read(
        nameservers=[{"ldhName": f"ns{at}.example.com"} for at in range(20)],
        status=[f"client {'x' * (at + 1)}" for at in range(40)],
    )
    assert found.nameservers == [f"ns{at}.example.com" for at in range(13)]
    assert len(found.statuses) == 30


def _registrar(name: Any, *, roles: Any = ("registrar",)) -> list[Any]:
    return [{"roles": list(roles), "vcardArray": ["vcard", [["fn", {}, "text", name]]]}]


@pytest.mark.parametrize(
    ("entities", "registrar"),
    [
        (_registrar(" Porkbun LLC "), "Porkbun LLC"),
        (_registrar("x" * 200), "x" * 100),
        (_registrar(""), None),
        (_registrar("a\x00b"), None),
        (_registrar(["Porkbun"]), None),
        (_registrar("Porkbun", roles=["registrant"]), None),
        (_registrar(" ") + _registrar("Gandi"), "Gandi"),
        (_registrar("Gandi", roles=["abuse", "registrar"]), "Gandi"),
    ],
)
def test_the_registrar_is_the_name_in_its_card(entities: list[Any], registrar: str | None) -> None:
    assert read(entities=entities).registrar == registrar


@pytest.mark.parametrize(
    ("services", "found"),
    [
        ([[["COM"], ["https://a.example/v1"]]], {"com": "https://a.example/v1/"}),
        ([[["com"], ["http://a.example/", "https://b.example/"]]], {"com": "https://b.example/"}),
        ([[["com"], ["http://a.example/"]]], {"com": "http://a.example/"}),
        ([[["com"], []], [["net", 7], [None, "https://c.example"]]], {"net": "https://c.example/"}),
    ],
)
def test_the_server_of_a_suffix_is_the_secure_one(services: Any, found: dict[str, str]) -> None:
    assert rdap.read_services(json.dumps({"services": services}).encode()) == found
