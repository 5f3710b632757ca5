"""Formats that are recognized by their header, and what their columns mean."""

from collections.abc import Mapping
from typing import Any

import pytest

from builders.kit.http import slices
from builders.kit.sheets.tables import Reading, SentTable, Source, opening
from builders.portfolio.domain_files.columns import DOMAINS, DomainRow
from builders.portfolio.domain_files.drafts import Draft, Options, read_drafts

FILES: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "sav": (
        "domain_id,domain_name,buy_now_price,date_added_to_account,auto_renew",
        "7,harbour.com,0.00,2024-01-02,1",
        {"registrar": "Sav", "acquired_on": "2024-01-02", "auto_renew": "True"},
    ),
    "netsol": (
        "Account No,Account Holder,Domain Name,Expiration Date,Auto Renew",
        "9,Ada,harbour.com,01/31/2027,No",
        {"registrar": "Network Solutions", "expires_at": "2027-01-31", "auto_renew": "False"},
    ),
    "hexonet": (
        "Domain,Status,Renewal Date,Nameserver",
        "harbour.com,ACTIVE,2027-01-31 10:00:00,ns1.harbour.net",
        {"registrar": "HEXONET", "expires_at": "2027-01-31 10:00:00+00:00", "nameservers": "['ns1.harbour.net']"},
    ),
    "parkio": (
        '"Order ID",Domain,"Created Date","Paid Date","Amount (USD)","Expiration Date","On park.io"',
        "5,harbour.io,2024-01-01,2024-01-02,99.00,2025-01-02,no",
        {"registrar": "park.io", "expires_at": "2025-01-02", "acquired_on": "2024-01-02"},
    ),
    "dombot": (
        (
            "Domain,IDN,Status,Folder,Registrar,Account,Created,Expires,Auto-renew,Renewal price,Renewal currency,"
            "Purchase type,Purchase date,Purchase amount,Purchase currency,Purchase years"
        ),
        "harbour.com,,active,Ports,Gandi,me,2020-01-02,2027-01-02,yes,9.99,EUR,registration,2020-01-02,8.00,EUR,2",
        {"registrar": "Gandi", "folder": "Ports", "registered_on": "2020-01-02", "renewal_price": "9.99 EUR"},
    ),
    "domainmod": (
        (
            "domain,expiry_date,function,auto_renewal,privacy,status,registration_fee,renewal_fee,fee_currency,"
            "domain_notes,registrar_password,api_key"
        ),
        "harbour.com,2027-01-02,Shop,Yes,No,Active,8.00,9.00,GBP,fine,hunter2,abc",
        {"renewal_price": "9.00 GBP", "auto_renew": "True", "privacy": "False", "notes": "fine"},
    ),
    "godaddy": (
        "Domain Name,Expiration Date,Auto-renew,Status",
        "HARBOUR.COM,2027-01-02,Off,Active",
        {"registrar": "GoDaddy", "expires_at": "2027-01-02", "auto_renew": "False"},
    ),
}


def open_file(content: str) -> Reading[DomainRow]:
    sent = SentTable(source=Source.FILE, content=content.encode(), options=Options())
    return slices.run_at_once(opening(DOMAINS, sent))


def read(content: str) -> tuple[str, Draft]:
    reading = open_file(content)
    [draft] = read_drafts(reading.reader, reading.table.read(), Options())
    return reading.detected.format, draft


@pytest.mark.parametrize("name", FILES)
def test_a_format_is_recognized_and_read(name: str) -> None:
    header, row, values = FILES[name]
    found, draft = read(f"{header}\n{row}\n")
    assert (found, draft.errors, draft.warnings) == (name, [], [])
    shown = {field: str(draft.values.get(field)) for field in values}
    assert shown == dict(values)
    assert "hunter2" not in str(draft)


def test_purchases_are_entries_of_the_ledger() -> None:
    for name, amount in (("parkio", "99.00 USD"), ("dombot", "8.00 EUR")):
        header, row, _ = FILES[name]
        [entry] = read(f"{header}\n{row}\n")[1].entries
        assert str(entry.money) == amount
    assert (entry.kind.value, entry.years) == ("registration", 2)


def test_each_format_recognizes_its_own_header_alone() -> None:
    for each in DOMAINS.formats.values():
        header = ",".join(sorted(each.requires)) or "domain,notes"
        if each.id not in {"sav", "netsol"}:  # their domain column has no fixed name
            assert open_file(header).detected.format == each.id
