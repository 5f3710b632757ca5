"""Formats that are recognized by their header, and what their columns mean."""

from collections.abc import Mapping
from typing import Any

import pytest

from builders.kit.http import slices
from builders.kit.sheets.sources import SentTable, Source
from builders.kit.sheets.tables import Reading, opening
from builders.portfolio.domain_files.columns import DOMAINS, DomainRow
from builders.portfolio.domain_files.drafts import Draft, Options, read_drafts

LANGUAGES = {
    "Nom de domaine;Date d'achat;Prix d'achat (EUR);Date d'expiration;Autorenew;Prix (EUR);Dossier": (
        "harbour.fr;12 févr. 2024;1 120,50;31/12/2027;oui;2.500;Ports"
    ),
    "Dominio;Fecha de compra;Precio de compra (EUR);Fecha de caducidad;Autorenew;Precio (EUR);Carpeta": (
        "harbour.fr;12 de febrero de 2024;1.120,50;31/12/2027;sí;2.500;Ports"
    ),
    "Domain;Kaufdatum;Kaufpreis (EUR);Ablaufdatum;Automatische Verlängerung;Preis (EUR);Ordner": (
        "harbour.fr;12.02.2024;1.120,50;31.12.2027;WAHR;2.500;Ports"
    ),
}
FILES: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "sav": (
        "domain_id,domain_name,buy_now_price,date_added_to_account,auto_renew",
        "7,harbour.com,0.00,2024-01-02,1",
        {"registrar": "Sav", "acquired_on": "2024-01-02", "auto_renew": "True"},
    ),
    "spaceship": (
        (
            "Domain,Nameservers,Category,DNS Preset,Registration Date,Expiration Date,Ownership change,Autorenew,"
            "Privacy,Transfer Lock,Status"
        ),
        "harbour.com,ns1.harbour.net,Brands,Custom,2024-03-01,2027-03-01,Allowed,On,On,Off,Active",
        {
            "registrar": "Spaceship",
            "registered_on": "2024-03-01",
            "expires_at": "2027-03-01",
            "auto_renew": "True",
            "privacy": "True",
            "locked": "False",
            "nameservers": "['ns1.harbour.net']",
        },
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
    "dynadot": (
        (
            "Domain,Renewal Status,Punycode,Expiration Date,Expiration Date Timestamp,Name Server,Locked,Privacy,"
            "Registration Date,Registration Date,Folder,Admin Email,Domain Note"
        ),
        (
            "harbour.io,auto renew,,2021/11/24 11:43 PST,1637783035000,NS: ns1.harbour.net,yes,full,"
            '2020/11/24 11:43 PST,1606247035000,(no folder),a@harbour.io,""'
        ),
        {
            "registrar": "Dynadot",
            "expires_at": "2021-11-24 19:43:55+00:00",
            "registered_on": "2020-11-24",
            "auto_renew": "True",
            "locked": "True",
            "privacy": "True",
            "nameservers": "['ns1.harbour.net']",
            "folder": "None",
        },
    ),
    "dan": (
        "Domain name,Buy now price,Starting offer,Description,",
        "harbour.com,100,75,My description,",
        {"asking_price": "100.00 USD", "min_offer": "75.00 USD", "notes": "My description"},
    ),
    "gandi": (
        "fqdn,registry_created_at,registry_ends_at,autorenew,nameservers",
        "harbour.fr,2020-01-02T10:00:00Z,2027-01-02T10:00:00Z,true,ns1.gandi.net ns2.gandi.net",
        {"registrar": "Gandi", "expires_at": "2027-01-02 10:00:00+00:00", "auto_renew": "True"},
    ),
    "namecom": (
        "domainName,createDate,expireDate,autorenewEnabled,locked,privacyEnabled,nameservers,renewalPrice",
        "harbour.com,2020-01-02T10:00:00Z,2027-01-02T10:00:00Z,true,true,false,ns1.name.com,13.99",
        {"registrar": "Name.com", "renewal_price": "13.99 USD", "privacy": "False", "locked": "True"},
    ),
    "generic": (
        (
            "Domäne;Registrar;Kaufdatum;Kaufpreis;Automatische Verlängerung;Verlängerungspreis (EUR);"
            "Ordner;Notizen;Verkaufspreis (€)"
        ),
        "bücher.de;INWX;24.02.2024;1.120,50;ja;9,99;Häfen;gut;1.500",
        {
            "registrar": "INWX",
            "acquired_on": "2024-02-24",
            "auto_renew": "True",
            "renewal_price": "9.99 EUR",
            "asking_price": "1500.00 EUR",
            "folder": "Häfen",
            "notes": "gut",
        },
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


@pytest.mark.parametrize("header", LANGUAGES)
def test_a_sheet_in_another_language_is_read(header: str) -> None:
    _, draft = read(f"{header}\n{LANGUAGES[header]}\n")
    values = {name: str(draft.values[name]) for name in ("expires_at", "auto_renew", "asking_price", "folder")}
    assert (draft.errors, draft.warnings) == ([], [])
    assert values == {
        "expires_at": "2027-12-31",
        "auto_renew": "True",
        "asking_price": "2500.00 EUR",
        "folder": "Ports",
    }
    [entry] = draft.entries
    assert (str(entry.money), str(entry.occurred_on)) == ("1120.50 EUR", "2024-02-12")


def test_purchases_are_entries_of_the_ledger() -> None:
    for name, amount in (("parkio", "99.00 USD"), ("dombot", "8.00 EUR")):
        header, row, _ = FILES[name]
        [entry] = read(f"{header}\n{row}\n")[1].entries
        assert str(entry.money) == amount
    assert (entry.kind.value, entry.years) == ("registration", 2)


def test_each_format_recognizes_its_own_header_alone() -> None:
    for each in DOMAINS.formats.values():
        header = ",".join(sorted(each.requires)) or "domain,notes"
        if each.id not in {"sav", "netsol"} and not each.by_name:  # their domain column has no fixed name
            assert open_file(header).detected.format == each.id
