from typing import Any

import pytest

from builders.app import Service
from builders.domains.records import RecordHealth
from builders.domains.verification import validate_mx
from tests.cast import Person
from tests.catalog.make import fresh
from tests.domains.make import INCLUDE, MX, PATH, add, good_records, settings_of
from tests.domains.nameserver import Fault, Nameserver

OURS = ("mx1.builders.example", "mx2.builders.example")


async def health(person: Person, domain: dict[str, Any]) -> dict[str, Any]:
    """Verify the domain and return its DNS health."""
    found: dict[str, Any] = (await person.post(f"{PATH}/{domain['id']}/verify")).json()["dns"]
    return found


@pytest.mark.parametrize(
    ("exchanges", "status", "said"),
    [
        ([(10, OURS[0])], RecordHealth.OK, None),
        ([(10, OURS[0]), (20, OURS[1])], RecordHealth.OK, None),
        (
            [],
            RecordHealth.MISSING,
            "Set the MX records of ada.example: 10 mx1.builders.example, 20 mx2.builders.example.",
        ),
        ([(10, OURS[0]), (20, "mx.other.example")], RecordHealth.WRONG, "and remove mx.other.example."),
        ([(0, ".")], RecordHealth.WRONG, "and remove the one that refuses all mail."),
    ],
)
def test_mx_records_must_be_only_ours(
    exchanges: list[tuple[int, str]], status: RecordHealth, said: str | None
) -> None:
    found, next_action = validate_mx("ada.example", exchanges, wanted=OURS)

    assert found is status
    assert (said or "") in (next_action or "")
    assert (said is None) == (next_action is None)


def test_without_configured_hosts_mx_is_unchecked() -> None:
    assert validate_mx("ada.example", [(10, "mx.other.example")], wanted=()) == (RecordHealth.UNCHECKED, None)


async def test_a_domain_without_records_gets_instructions(alice: Person, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    domain = added["domain"]
    dns.txt(domain, "hello")

    found = await health(alice, added)

    assert {each["status"] for kind, each in found.items() if kind != "dkim"} == {"missing"}
    assert found["dkim"]["status"] == "unchecked"  # a domain gets its key when it is live
    assert f"Set the MX records of {domain}: 10 {MX}" in found["mx"]["next_action"]
    assert f"include:{INCLUDE}" in found["spf"]["next_action"]
    assert f"_dmarc.{domain}" in found["dmarc"]["next_action"]
    assert all(found[kind]["checked_at"] for kind in ("mx", "spf", "dmarc"))


async def test_found_records_are_returned(alice: Person, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    good_records(dns, added["domain"])

    found = await health(alice, added)

    assert found["mx"]["found"] == [f"10 {MX}"]
    assert found["spf"]["found"] == [f"v=spf1 include:{INCLUDE} ~all"]
    assert found["dmarc"]["found"] == ["v=DMARC1; p=none"]


async def test_a_domain_inherits_the_dmarc_record_of_its_parent(alice: Person, dns: Nameserver) -> None:
    above = fresh()
    added = await add(alice, f"mail.eu.{above}")
    dns.txt(f"_dmarc.{above}", "v=DMARC1; p=reject")

    found = (await health(alice, added))["dmarc"]

    assert (found["status"], found["found"]) == ("ok", ["v=DMARC1; p=reject"])


async def test_a_deep_domain_inherits_the_dmarc_record_of_the_organization(alice: Person, dns: Nameserver) -> None:
    above = fresh()
    added = await add(alice, f"a.b.c.d.{above}")
    dns.txt(f"_dmarc.{above}", "v=DMARC1; p=reject")

    assert (await health(alice, added))["dmarc"]["status"] == "ok"


async def test_without_a_response_about_the_parent_dmarc_is_unchecked(alice: Person, dns: Nameserver) -> None:
    above = fresh()
    added = await add(alice, f"mail.{above}")
    dns.faults[f"_dmarc.{above}"] = Fault.SERVFAIL

    assert (await health(alice, added))["dmarc"]["status"] == "unchecked"


async def test_control_characters_in_records_are_replaced(alice: Person, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    dns.zone[added["domain"], "TXT"] = ['"v=spf1 \\255\\000\\010\\027[2J -all"', '"' + "x" * 255 + '"']

    [shown] = (await health(alice, added))["spf"]["found"]

    assert shown.isprintable()
    assert "\\xff" in shown


async def test_without_settings_only_spf_and_dmarc_are_validated(
    alice: Person, service: Service, dns: Nameserver
) -> None:
    added = await add(alice, fresh())
    good_records(dns, added["domain"])
    empty = {"mail_hosts": (), "spf_include": None}
    service.api.state.settings = settings_of(service).model_copy(update=empty)

    found = await health(alice, added)

    assert {name: each["status"] for name, each in found.items()} == {
        "mx": "unchecked",
        "spf": "ok",
        "dkim": "unchecked",
        "dmarc": "ok",
    }
