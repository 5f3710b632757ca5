"""What the words of each registrar mean: states of domains and transfers, flags, days, and kinds of charges."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape

import pytest

from builders.portfolio.registrars.adapter import Adapter
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import (
    ChargeKind,
    HeldStatus,
    RegistrarDomain,
    TransferDirection,
    TransferState,
)
from builders.portfolio.registrars.rows import UNREADABLE, classify, read_flag, read_time, read_total
from tests.portfolio.registrars.recorded_make import Replay, adapter_of

NAMECHEAP = "http://api.namecheap.com/xml.response"
Members = Mapping[str, Any]


def namecheap(inner: str) -> str:
    return f'<ApiResponse xmlns="{NAMECHEAP}" Status="OK"><CommandResponse>{inner}</CommandResponse></ApiResponse>'


def namesilo(inner: str) -> str:
    return f"<namesilo><reply><code>300</code>{inner}</reply></namesilo>"


def listing(provider: str, row: Members) -> Adapter:
    """An adapter whose registrar lists one row."""
    list_path = {
        "cloudflare": "/registrations",
        "dynadot": "/restful/v2/domains",
        "gandi": "/domain/domains",
        "godaddy": "/v1/domains",
        "namecom": "/core/v1/domains",
        "porkbun": "/domain/listAll",
        "route53": "ListDomains",
        "spaceship": "/domains",
    }[provider]

    def page(*rows: Members) -> Any:
        return {
            "cloudflare": {"success": True, "result": rows, "result_info": {"count": len(rows)}},
            "dynadot": {"code": 200, "data": {"domain_info_list": rows}},
            "namecom": {"domains": rows, "totalCount": len(rows)},
            "porkbun": {"status": "SUCCESS", "domains": rows},
            "route53": {"Domains": rows},
            "spaceship": {"items": rows, "total": len(rows)},
        }.get(provider, rows)

    replay = Replay(
        {list_path: json.dumps(page(row))}, ends={list_path: json.dumps(page())}, headers={"Total-Count": "1"}
    )
    return adapter_of(provider, replay)


async def only(adapter: Adapter) -> RegistrarDomain:
    [held] = [row async for page in adapter.list_domains() for row in page]
    return held


NAMES = {
    "cloudflare": "domain_name",
    "dynadot": "domain_name",
    "gandi": "fqdn",
    "godaddy": "domain",
    "namecom": "domainName",
    "porkbun": "domain",
    "route53": "DomainName",
    "spaceship": "name",
}
STATES = [
    ("cloudflare", {"status": "active"}, HeldStatus.ACTIVE),
    ("cloudflare", {"status": "registration_pending"}, HeldStatus.PENDING),
    ("cloudflare", {"status": "expired"}, HeldStatus.EXPIRED),
    ("cloudflare", {"status": "suspended"}, HeldStatus.SUSPENDED),
    ("cloudflare", {"status": "redemption_period"}, HeldStatus.REDEMPTION),
    ("cloudflare", {"status": "pending_delete"}, HeldStatus.PENDING_DELETE),
    ("cloudflare", {"status": "a new word"}, HeldStatus.UNKNOWN),
    ("cloudflare", {"status": None}, HeldStatus.UNKNOWN),
    ("dynadot", {"status": "active", "hold": "yes"}, HeldStatus.SUSPENDED),
    ("dynadot", {"status": "active", "hold": "no"}, HeldStatus.ACTIVE),
    ("dynadot", {"status": "active", "disabled": "yes"}, HeldStatus.SUSPENDED),
    ("dynadot", {"status": "expired", "hold": "yes"}, HeldStatus.EXPIRED),
    ("gandi", {"status": []}, HeldStatus.ACTIVE),
    ("gandi", {"status": [], "dates": {"registry_ends_at": "2014-04-08T00:00:00Z"}}, HeldStatus.EXPIRED),
    ("gandi", {"status": ["pendingDelete", "redemptionPeriod"]}, HeldStatus.PENDING_DELETE),
    ("gandi", {"status": ["clientHold", "redemptionPeriod"]}, HeldStatus.REDEMPTION),
    ("gandi", {"status": ["clientTransferProhibited", "pendingTransfer"]}, HeldStatus.TRANSFERRING_OUT),
    ("gandi", {"status": ["serverHold"]}, HeldStatus.SUSPENDED),
    ("gandi", {"status": ["clientHold"]}, HeldStatus.SUSPENDED),
    ("godaddy", {"status": "ACTIVE"}, HeldStatus.ACTIVE),
    ("godaddy", {"status": "active"}, HeldStatus.ACTIVE),
    ("godaddy", {"status": "CANCELLED_REDEEMABLE"}, HeldStatus.REDEMPTION),
    ("godaddy", {"status": "CANCELLED"}, HeldStatus.GONE),
    ("godaddy", {"status": "EXPIRED_REASSIGNED"}, HeldStatus.GONE),
    ("godaddy", {"status": "EXPIRED"}, HeldStatus.EXPIRED),
    ("godaddy", {"status": "PENDING_SETUP"}, HeldStatus.PENDING),
    ("godaddy", {"status": "AWAITING_TRANSFER_IN_AUTH"}, HeldStatus.PENDING),
    ("godaddy", {"status": "HELD_REGISTRAR"}, HeldStatus.SUSPENDED),
    ("godaddy", {"status": "SUSPENDED_VERIFICATION_ICANN"}, HeldStatus.SUSPENDED),
    ("godaddy", {"status": "HELD_EXPIRED_REDEMPTION_MOCK"}, HeldStatus.REDEMPTION),
    ("godaddy", {"status": "PENDING_HOLD_REDEMPTION"}, HeldStatus.REDEMPTION),
    ("godaddy", {"status": "PENDING_LOCK_THEN_HOLD_REDEMPTION"}, HeldStatus.REDEMPTION),
    ("godaddy", {"status": "PENDING_REDEMPTION_REPORT"}, HeldStatus.REDEMPTION),
    ("godaddy", {"status": "PENDING_EXPIRED_REASSIGNMENT"}, HeldStatus.EXPIRED),
    ("godaddy", {"status": "LOCKED_ABUSE"}, HeldStatus.SUSPENDED),
    ("godaddy", {"status": "PARKED_AND_HELD"}, HeldStatus.SUSPENDED),
    ("godaddy", {"status": "PARKED_VERIFICATION_ICANN"}, HeldStatus.SUSPENDED),
    ("godaddy", {"status": "ACTIVE", "expires": "2014-04-08T00:00:00Z"}, HeldStatus.EXPIRED),
    ("godaddy", {"status": "A_NEW_WORD", "expires": "2014-04-08T00:00:00Z"}, HeldStatus.UNKNOWN),
    ("godaddy", {"status": "UPDATED_OWNERSHIP"}, HeldStatus.GONE),
    ("godaddy", {"status": "TRANSFERRED_OUT"}, HeldStatus.GONE),
    ("godaddy", {"status": "A_NEW_WORD"}, HeldStatus.UNKNOWN),
    ("godaddy", {}, HeldStatus.UNKNOWN),
    ("porkbun", {"status": "ACTIVE"}, HeldStatus.ACTIVE),
    ("porkbun", {"status": "EXPIRED"}, HeldStatus.EXPIRED),
    ("namecom", {"locks": ["clientHold"]}, HeldStatus.SUSPENDED),
    ("namecom", {"locks": ["clientTransferProhibited"]}, HeldStatus.UNKNOWN),
    ("namecom", {"expireDate": "2014-04-08T00:00:00Z"}, HeldStatus.EXPIRED),
    ("porkbun", {"status": "SUSPENDED"}, HeldStatus.SUSPENDED),
    ("porkbun", {"status": "ACTIVE", "expireDate": "2014-04-08 00:00:00"}, HeldStatus.EXPIRED),
    ("route53", {"Expiry": 1396915200.0}, HeldStatus.EXPIRED),
    ("spaceship", {"lifecycleStatus": "creating"}, HeldStatus.PENDING),
    ("spaceship", {"lifecycleStatus": "registered"}, HeldStatus.ACTIVE),
    (
        "spaceship",
        {
            "lifecycleStatus": "registered",
            "suspensions": [{"reasonCode": "raaVerification"}],
            "eppStatuses": ["clientHold"],
        },
        HeldStatus.SUSPENDED,
    ),
    (
        "spaceship",
        {"lifecycleStatus": "registered", "suspensions": [{"reasonCode": "abuse"}]},
        HeldStatus.SUSPENDED,
    ),
    ("spaceship", {"lifecycleStatus": "registered", "eppStatuses": ["serverHold"]}, HeldStatus.SUSPENDED),
    ("spaceship", {"lifecycleStatus": "grace1", "eppStatuses": ["clientHold"]}, HeldStatus.EXPIRED),
    ("spaceship", {"lifecycleStatus": "grace1"}, HeldStatus.EXPIRED),
    ("spaceship", {"lifecycleStatus": "grace2"}, HeldStatus.EXPIRED),
    ("spaceship", {"lifecycleStatus": "redemption"}, HeldStatus.REDEMPTION),
]


@pytest.mark.parametrize(("provider", "members", "status"), STATES, ids=str)
async def test_the_word_of_a_registrar_for_a_state(provider: str, members: Members, status: HeldStatus) -> None:
    assert (await only(listing(provider, {NAMES[provider]: "a.com", **members}))).status is status


FACTS = [
    ("cloudflare", {"privacy_mode": "redaction"}, {"privacy": True}),
    ("cloudflare", {"privacy_mode": "off"}, {"privacy": False}),
    ("cloudflare", {}, {"privacy": None}),
    ("dynadot", {"privacy": "Full Privacy"}, {"privacy": True}),
    ("dynadot", {"privacy": "Partial Privacy"}, {"privacy": True}),
    ("dynadot", {"privacy": "Privacy Off"}, {"privacy": False}),
    ("dynadot", {"privacy": "a new word"}, {"privacy": None}),
    ("dynadot", {"renew_option": "auto-renew"}, {"auto_renew": True}),
    ("dynadot", {"renew_option": "no renew option"}, {"auto_renew": None}),
    ("dynadot", {}, {"auto_renew": None, "privacy": None, "nameservers": None}),
    (
        "dynadot",
        {"glue_info": {"nameserver_list": [{"server_name": "ns1.a.net"}]}},
        {"nameservers": ["ns1.a.net"]},
    ),
    ("dynadot", {"expiration_date": "1798761600000"}, {"expires_at": datetime(2027, 1, 1, tzinfo=UTC)}),
    ("dynadot", {"expiration_date": ""}, {"expires_at": None}),
    ("gandi", {"autorenew": True}, {"auto_renew": True}),
    ("gandi", {"autorenew": {"enabled": False}}, {"auto_renew": False}),
    ("gandi", {"status": ["serverTransferProhibited"]}, {"locked": True}),
    ("gandi", {"status": ["clientHold"]}, {"locked": False}),
    ("namecom", {}, {"auto_renew": False, "locked": False, "privacy": False, "renewal_price": None}),
    ("namecom", {"autorenewEnabled": True}, {"auto_renew": True}),
    ("porkbun", {"autoRenew": "1", "securityLock": 0}, {"auto_renew": True, "locked": False}),
    ("porkbun", {"whoisPrivacy": "maybe"}, {"privacy": None}),
    ("route53", {"Expiry": 1798761600.0}, {"expires_at": datetime(2027, 1, 1, tzinfo=UTC)}),
    ("route53", {"TransferLock": False}, {"locked": False}),
    ("spaceship", {"eppStatuses": ["serverTransferProhibited"]}, {"locked": True}),
    ("spaceship", {"eppStatuses": ["clientHold"]}, {"locked": False}),
    ("spaceship", {}, {"locked": None, "privacy": None, "auto_renew": None}),
    ("spaceship", {"privacyProtection": {"level": "public"}}, {"privacy": False}),
    ("spaceship", {"privacyProtection": {"level": "high"}}, {"privacy": True}),
    (
        "spaceship",
        {"lifecycleStatus": "registered", "suspensions": [{"reasonCode": "raaVerification"}]},
        {"status_raw": "registered, raaVerification"},
    ),
]


@pytest.mark.parametrize(("provider", "members", "expected"), FACTS, ids=str)
async def test_the_word_of_a_registrar_for_a_setting(provider: str, members: Members, expected: Members) -> None:
    held = await only(listing(provider, {NAMES[provider]: "a.com", **members}))
    assert {name: getattr(held, name) for name in expected} == expected


OVH = [
    ({"status": "ok"}, {}, {"status": HeldStatus.ACTIVE}),
    ({"status": "inCreation"}, {}, {"status": HeldStatus.PENDING}),
    ({"status": "expired"}, {}, {"status": HeldStatus.EXPIRED}),
    ({"status": "unPaid"}, {}, {"status": HeldStatus.EXPIRED}),
    ({"status": "pendingDebt"}, {}, {"status": HeldStatus.UNKNOWN}),
    ({"status": "ok", "expiration": "2014-04-08"}, {}, {"status": HeldStatus.EXPIRED}),
    ({"status": "ok"}, {"state": "ok", "suspensionState": "not_suspended"}, {"status": HeldStatus.ACTIVE}),
    ({"status": "ok"}, {"state": "ok", "suspensionState": "suspended"}, {"status": HeldStatus.SUSPENDED}),
    (
        {"status": "ok"},
        {"state": "registry_suspended"},
        {"status": HeldStatus.SUSPENDED, "status_raw": "registry_suspended"},
    ),
    ({"status": "expired"}, {"state": "restorable"}, {"status": HeldStatus.REDEMPTION}),
    ({"status": "ok"}, {"state": "pending_outgoing_transfer"}, {"status": HeldStatus.TRANSFERRING_OUT}),
    ({"status": "ok"}, {"state": "a new word"}, {"status": HeldStatus.ACTIVE, "status_raw": "ok"}),
    ({"status": "ok", "expiration": "0001-01-01"}, {}, {"status": HeldStatus.ACTIVE, "unread": ("expires_at",)}),
    ({"renew": {"automatic": True}}, {}, {"auto_renew": True}),
    ({"renew": {"automatic": False, "deleteAtExpiration": True}}, {}, {"auto_renew": False}),
    ({"renew": {"automatic": True, "deleteAtExpiration": False}}, {}, {"auto_renew": True}),
    ({"renew": {"automatic": True, "deleteAtExpiration": True}}, {}, {"auto_renew": False}),
    ({"renew": None}, {}, {"auto_renew": None}),
    ({}, {"transferLockStatus": "locking"}, {"locked": True}),
    ({}, {"transferLockStatus": "unlocking"}, {"locked": False}),
    ({}, {"transferLockStatus": "unavailable"}, {"locked": None}),
    ({"expiration": "2027-02-28"}, {}, {"expires_at": datetime(2027, 2, 28, tzinfo=UTC)}),
]


@pytest.mark.parametrize(("service", "details", "expected"), OVH, ids=str)
async def test_the_word_of_ovh_for_a_service(service: Members, details: Members, expected: Members) -> None:
    answers = {"/domain": ["a.com"], "/domain/a.com": details, "/domain/a.com/serviceInfos": service}
    replay = Replay({path: json.dumps(body) for path, body in answers.items()})
    held = await only(adapter_of("ovh", replay))
    assert {name: getattr(held, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('IsExpired="false"', {"status": HeldStatus.ACTIVE}),
        ('IsExpired="true"', {"status": HeldStatus.EXPIRED}),
        ('WhoisGuard="ENABLED"', {"privacy": True}),
        ('WhoisGuard="NOTPRESENT"', {"privacy": False}),
        ('AutoRenew="true" IsLocked="false"', {"auto_renew": True, "locked": None}),
        ('Expires="02/28/2027"', {"expires_at": datetime(2027, 2, 28, tzinfo=UTC)}),
        ('Expires="28/02/2027"', {"expires_at": None}),
        ("", {"auto_renew": None, "locked": None, "privacy": None, "expires_at": None}),
    ],
)
async def test_the_word_of_namecheap_for_a_setting(attributes: str, expected: Members) -> None:
    rows = f'<DomainGetListResult><Domain Name="a.com" {attributes}/></DomainGetListResult>'
    answer = namecheap(f"{rows}<Paging><TotalItems>1</TotalItems></Paging>")
    held = await only(adapter_of("namecheap", Replay({"/xml.response": answer})))
    assert {name: getattr(held, name) for name in expected} == expected


def transferring(provider: str, word: str) -> Adapter:
    """An adapter whose registrar has one transfer in a state."""
    row = f'<Transfer DomainName="a.com" TransferID="1" Status="{escape(word)}"/>'

    def at(name: str, status: str, **more: str) -> Members:
        return {name: "a.com", status: word, **more}

    path, answer = {
        "cloudflare": (
            "/registrations/a.com/transfer-in",
            {"success": True, "result": {"state": word}},
        ),
        "godaddy": ("/v2/customers/c-1/domains/a.com/actions", [{"type": "TRANSFER_IN", "status": word}]),
        "namecheap": ("/xml.response", namecheap(row)),
        "namecom": ("/core/v1/transfers/a.com", {"domainName": "a.com", "status": word}),
        "namesilo": ("/checkTransferStatus", namesilo(f"<status>{word}</status>")),
        "porkbun": ("/domain/listTransfers", {"status": "SUCCESS", "transfers": [at("domain", "status")]}),
        "route53": ("ListOperations", {"Operations": [at("DomainName", "Status", Type="TRANSFER_IN_DOMAIN")]}),
        "spaceship": ("/domains/a.com/transfer", {"direction": "in", "status": word}),
    }[provider]
    return adapter_of(provider, Replay({path: answer if isinstance(answer, str) else json.dumps(answer)}))


PENDING, COMPLETED = TransferState.PENDING, TransferState.COMPLETED
FAILED, CANCELLED, ACTION = TransferState.FAILED, TransferState.CANCELLED, TransferState.ACTION_REQUIRED
TRANSFERS: Mapping[str, Mapping[str, TransferState]] = {
    "cloudflare": {"pending": PENDING, "in_progress": PENDING, "succeeded": COMPLETED, "failed": FAILED}
    | {"action_required": ACTION, "blocked": ACTION},
    "godaddy": {"ACCEPTED": PENDING, "AWAITING": PENDING, "PENDING": PENDING, "SUCCESS": COMPLETED}
    | {"FAILED": FAILED, "CANCELLED": CANCELLED},
    "namecheap": {"Transfer in progress": PENDING, "COMPLETED": COMPLETED, "Cancelled by user": CANCELLED}
    | {"Transfer failed at the registry": FAILED, "Rejected by the registrar": FAILED, "": PENDING}
    | {"Waiting for EPP code from owner": ACTION, "Awaiting EPP verification": ACTION},
    "namecom": {"pending": PENDING, "submitting_transfer": PENDING, "pending_transfer": PENDING}
    | {"pending_insert": PENDING, "completed": COMPLETED, "failed": FAILED, "canceled": CANCELLED}
    | {"canceled_pending_refund": CANCELLED, "pending_unlock": ACTION, "pending_new_auth_code": ACTION}
    | {"pending_registry_unlock": ACTION, "rejected": ACTION},
    "namesilo": {"Transfer Completed": COMPLETED, "Cancelled": CANCELLED, "Transfer Rejected": FAILED}
    | {"Sent to Registry": PENDING, "Awaiting email confirmation": ACTION},
    "porkbun": {"PENDINGTRANSFER": PENDING, "PENDINGAUTH": PENDING, "PENDINGSUBMIT": PENDING, "DONE": COMPLETED}
    | {"CANCELED": CANCELLED, "NEW": PENDING, "INIT": PENDING},
    "route53": {"SUBMITTED": PENDING, "IN_PROGRESS": PENDING, "SUCCESSFUL": COMPLETED, "ERROR": FAILED}
    | {"FAILED": FAILED},
    "spaceship": {"pending": PENDING, "completed": COMPLETED, "cancelled": CANCELLED, "rejected": FAILED},
}


@pytest.mark.parametrize(
    ("provider", "word", "state"),
    [(provider, word, state) for provider, words in TRANSFERS.items() for word, state in words.items()],
)
async def test_the_word_of_a_registrar_for_a_transfer(provider: str, word: str, state: TransferState) -> None:
    found = await transferring(provider, word).find_transfer("a.com")
    assert found is not None
    assert found.state is state


@pytest.mark.parametrize("state", TransferState)
def test_a_transfer_is_open_until_it_has_ended(state: TransferState) -> None:
    assert state.is_open == (state in {PENDING, ACTION})


@pytest.mark.parametrize(
    ("kind", "direction"),
    [("TRANSFER_OUT_DOMAIN", TransferDirection.OUT), ("TRANSFER_IN_DOMAIN", TransferDirection.IN)],
)
async def test_the_direction_of_a_transfer_at_route53(kind: str, direction: TransferDirection) -> None:
    rows = {"Operations": [{"DomainName": "a.com", "Status": "SUBMITTED", "Type": kind}]}
    found = await adapter_of("route53", Replay({"ListOperations": json.dumps(rows)})).find_transfer("a.com")
    assert found is not None
    assert found.direction is direction


async def test_the_latest_transfer_counts_and_not_one_of_another_domain() -> None:
    rows = [
        {"domain": "a.com", "status": "CANCELED", "transferDate": "2026-01-02 00:00:00"},
        {"domain": "a.com", "status": "DONE", "transferDate": "2026-01-03 00:00:00"},
        {"domain": "a.com", "status": "CANCELED", "transferDate": "2026-01-01 00:00:00"},
        {"domain": "b.com", "status": "CANCELED", "transferDate": "2026-01-04 00:00:00"},
    ]
    answer = json.dumps({"status": "SUCCESS", "transfers": rows})
    found = await adapter_of("porkbun", Replay({"/domain/listTransfers": answer})).find_transfer("a.com")
    assert found is not None
    assert found.state is COMPLETED


@pytest.mark.parametrize("completed", [True, False])
async def test_a_transfer_at_cloudflare_ends_when_it_is_completed(completed: bool) -> None:
    result = {"state": "in_progress", "updated_at": "2026-01-02T00:00:00Z", "completed": completed}
    path = "/registrations/a.com/transfer-in"
    replay = Replay({path: json.dumps({"success": True, "result": result})})
    found = await adapter_of("cloudflare", replay).find_transfer("a.com")
    assert found is not None
    assert (found.completed_at is not None) == completed


@pytest.mark.parametrize("provider", ["gandi", "ovh"])
async def test_a_registrar_without_transfers_says_so(provider: str) -> None:
    with pytest.raises(RegistrarFailed) as failed:
        await adapter_of(provider, Replay({})).find_transfer("a.com")
    assert failed.value.kind is RegistrarFailure.UNSUPPORTED


async def test_godaddy_shows_transfers_to_a_customer_only() -> None:
    adapter = adapter_of("godaddy", Replay({}))
    adapter._credentials = {"api_key": "k", "api_secret": "s"}
    with pytest.raises(RegistrarFailed) as failed:
        await adapter.find_transfer("a.com")
    assert failed.value.hint == "Add customer_id to the credentials."


@pytest.mark.parametrize(
    ("value", "flag"),
    [
        *((word, True) for word in ("1", "Yes", "TRUE", " on ", "enabled", "locked")),
        (True, True),
        (1, True),
        *((word, False) for word in ("0", "No", "false", "off", "disabled", "unlocked")),
        (False, False),
        (0, False),
        *((None, None), ("", None), ("perhaps", None), (2, None), ([], None)),
    ],
)
def test_a_flag_is_a_boolean_a_number_or_a_word(value: object, flag: bool | None) -> None:
    assert read_flag(value) is flag


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2027-02-28", datetime(2027, 2, 28, tzinfo=UTC)),
        ("2027-02-28 12:00:00", datetime(2027, 2, 28, 12, tzinfo=UTC)),
        (" 2027-02-28T12:00:00Z ", datetime(2027, 2, 28, 12, tzinfo=UTC)),
        ("2027-02-28T12:00:00+02:00", datetime(2027, 2, 28, 10, tzinfo=UTC)),
        ("0000-00-00", UNREADABLE),
        ("soon", UNREADABLE),
        (1798761600, UNREADABLE),
        ("", None),
        (0, None),
        (None, None),
    ],
)
def test_a_time_without_a_zone_is_utc(text: object, at: datetime | None) -> None:
    assert read_time(text) == at


@pytest.mark.parametrize(("text", "total"), [("7", 7), (" 7 ", 7), ("", None), (" ", None), (None, None)])
def test_a_total_is_a_number_or_unknown(text: str | None, total: int | None) -> None:
    assert read_total(text) == total


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        (".COM Domain Name Renewal", ChargeKind.RENEWAL),
        ("RENEW_DOMAIN", ChargeKind.RENEWAL),
        ("example.com - registration", ChargeKind.REGISTRATION),
        ("REGISTER_DOMAIN", ChargeKind.REGISTRATION),
        ("domain_create", ChargeKind.REGISTRATION),
        ("TRANSFER_IN_DOMAIN", ChargeKind.TRANSFER),
        ("Redemption Fee", ChargeKind.REDEMPTION),
        ("Domain restore", ChargeKind.REDEMPTION),
        ("Restore and renewal", ChargeKind.REDEMPTION),
        ("Full Domain Privacy renewal", ChargeKind.PRIVACY),
        ("whois_privacy", ChargeKind.PRIVACY),
        ("ICANN fee", ChargeKind.TAX),
        ("VAT 20 %", ChargeKind.TAX),
        ("Refund of a renewal", ChargeKind.REFUND),
        ("Credit for example.com", ChargeKind.REFUND),
        ("Renewal, paid by credit card", ChargeKind.RENEWAL),
        ("Renewal paid with account credit", ChargeKind.RENEWAL),
        ("Credits added", ChargeKind.OTHER),
        ("Top-up of credits", ChargeKind.OTHER),
        ("Deluxe Hosting", ChargeKind.OTHER),
        ("", ChargeKind.OTHER),
    ],
)
def test_the_kind_of_a_charge_is_the_first_known_word(description: str, kind: ChargeKind) -> None:
    assert classify(description) is kind


def test_a_negative_charge_is_a_refund_whatever_it_says() -> None:
    assert classify("Domain Name Renewal", total=Decimal(-1)) is ChargeKind.REFUND


async def test_a_transfer_has_no_time_that_cannot_be_read() -> None:
    result = {"state": "succeeded", "completed": True, "created_at": "0001-01-01T00:00:00Z", "updated_at": "soon"}
    body = json.dumps({"success": True, "result": result})
    found = await adapter_of("cloudflare", Replay({"/registrations/a.com/transfer-in": body})).find_transfer(
        "a.com"
    )
    assert found is not None
    assert (found.state, found.started_at, found.completed_at) == (COMPLETED, None, None)
