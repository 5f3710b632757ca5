"""A portfolio of 1,000 domains as registrars and marketplaces export it, and a hand-made sheet full of errors."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import cycle, islice

_FIRST = ("north", "south", "blue", "quick", "silver", "calm", "bright", "old", "open", "green")
_SECOND = ("harbour", "lantern", "meadow", "anchor", "bridge", "orchard", "signal", "ferry", "garden", "stone")
_SUFFIXES = ("com", "net", "org", "io", "co.uk", "de", "shop", "app", "com.br", "xyz")
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Held:
    """A domain as its holder knows it."""

    name: str
    registered: date
    expires: date
    auto_renew: bool
    locked: bool
    private: bool
    renewal: str

    @property
    def tld(self) -> str:
        """What stands behind the first dot."""
        return self.name.partition(".")[2]


def portfolio() -> Sequence[Held]:
    """A thousand domains, the same ones each time."""
    names = [f"{first}{second}.{tld}" for first in _FIRST for second in _SECOND for tld in _SUFFIXES]
    return [
        Held(
            name=name,
            registered=date(2012, 1, 1) + at * 3 * DAY,
            expires=date(2027, 1, 1) + at * DAY,
            auto_renew=at % 3 != 0,
            locked=at % 4 != 0,
            private=at % 5 != 0,
            renewal=f"{8 + at % 50}.{at % 100:02}",
        )
        for at, name in enumerate(names)
    ]


def on(flag: bool) -> str:
    return "On" if flag else "Off"


def yes(flag: bool) -> str:
    return "Yes" if flag else "No"


def sheet(header: str, rows: Sequence[Sequence[str]], *, delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([header.split(","), *rows])
    return text.getvalue()


def godaddy(held: Sequence[Held]) -> bytes:
    header = (
        "Domain Name,International Domain Name,TLD,Create Date,Ownership Date,Expiration Date,Lock,Auto-renew,"
        "Status,Renewal Price,Nameservers,Forwarding URL,Privacy,Estimated Value,Registrant Email,"
        "FolderMemberships,ListingStatus"
    )
    rows = [
        [
            *(each.name.upper(), "", f".{each.tld.upper()}", str(each.registered), "", str(each.expires)),
            *("Locked" if each.locked else "Unlocked", on(each.auto_renew), "Active", f"$ {each.renewal}"),
            *("ns1.harbour.net|ns2.harbour.net", "", on(each.private), "$1,250.00", "me@x.net", "Shops", ""),
        ]
        for each in held
    ]
    return sheet(header, rows).encode("utf-8-sig")


def namecheap(held: Sequence[Held]) -> bytes:
    header = (
        "Domain Name,Domain privacy protection status,Domain status at NC,Domain auto-renew status,"
        "Domain expiration date"
    )
    rows = [
        [each.name, on(each.private).upper(), "ACTIVE", on(each.auto_renew).upper(), f"{each.expires:%b %d %Y}"]
        for each in held
    ]
    return sheet(header, rows).encode()


def porkbun(held: Sequence[Held]) -> bytes:
    header = (
        "DOMAIN,TLD,CREATE DATE,EXPIRE DATE,LOCKED,PRIVACY,AUTO RENEW,NAMESERVERS,AUTH CODE,AUTH CODE CHANGED,"
        "EST. RENEWAL PRICE,STATUSES,URL FORWARDS"
    )
    rows = [
        [
            *(each.name, each.tld, f"{each.registered} 10:11:12", f"{each.expires} 10:11:12", yes(each.locked)),
            *(yes(each.private), yes(each.auto_renew), "ns1.harbour.net ns2.harbour.net", "hunter2-SECRET", ""),
            *(each.renewal, "clientTransferProhibited", ""),
        ]
        for each in held
    ]
    return b"Porkbun domain export, all domains\r\n" + sheet(header, rows).encode()


def dynadot(held: Sequence[Held]) -> bytes:
    header = (
        "Domain,Renewal Status,Punycode,Expiration Date,Expiration Date Timestamp,Name Server,Locked,Privacy,"
        "Registration Date,Registration Date,Folder,Admin Email,Domain Note"
    )
    rows = [
        [
            *(each.name, "auto renew" if each.auto_renew else "do not renew", ""),
            *(f"{each.expires:%Y/%m/%d} 11:43 PST", _milliseconds(each.expires), "NS: ns1.harbour.net"),
            *(yes(each.locked).lower(), "full" if each.private else "off"),
            *(f"{each.registered:%Y/%m/%d} 03:00 PST", _milliseconds(each.registered), "(no folder)", "me@x.net"),
            "=bought at a drop",
        ]
        for each in held
    ]
    return sheet(header, rows).encode("utf-16")


def _milliseconds(day: date) -> str:
    return str((day - date(1970, 1, 1)).days * 86_400_000 + 70_980_000)


def efty(held: Sequence[Held]) -> bytes:
    header = (
        "Domain,Purchase price,Purchase date,Renewal fee,Status,Sold date,Sold price,Category,Landing Page theme,"
        "BIN Price,Payment Platform,Minimum offer,Premium,Description,Efty market"
    )
    rows = [
        [
            *(each.name, f"{100 + at}.00", f"{each.registered + 500 * DAY:%m-%d-%Y}", "0.00"),
            *(
                ("Sold", f"{date(2026, 3, 1) + at * DAY:%m-%d-%Y}", f"{2000 + at}.00")
                if at % 10 == 0
                else ("", "", "0.00")
            ),
            *("Trade", "Classic", f"{2500 + at}.00", "PayPal", "0.00", "No", "A fine name", "Yes"),
        ]
        for at, each in enumerate(held)
    ]
    return sheet(header, rows).encode()


def sedo(held: Sequence[Held]) -> bytes:
    header = (
        "Domain name,Language,Currency,Price,Minimum Offer,Price Option,Master Category,Domain Name (ACE),"
        "Inserted,Currency,Registrar,SedoMLS Status"
    )
    rows = [
        [each.name, "en", "EUR", "1.499,00", "500,00", "Buy now", "", each.name, "01.02.2024", "EUR", "", "active"]
        for each in held
    ]
    return sheet(header, rows, delimiter=";").encode("cp1252")


def afternic(held: Sequence[Held]) -> bytes:
    header = (
        "*Name (Required),*Minimum Offer (Required),Reserve Price,Floor Price,Buy Now Price,Listing Status,"
        "Listing Page,GROUPNAME"
    )
    rows = [[each.name, "300", "", "250", "1995", "Listed", "", "Afternic"] for each in held]
    return sheet(header, rows).encode()


# The cell that is wrong in each kind of bad row, under its column, with the code of the reason.
SHEET = (
    "Domain,Registrar,Registered,Expires,Auto Renew,Locked,Privacy,Renewal Price,Currency,Asking Price,Min Offer,"
    "Value,Tags,Notes,Purchase Date,Purchase Price,Sale Date,Sale Price,Ownership,Revenue Share,"
    "Name Servers,Years,Pinned"
)
BAD_CELLS = (
    *(
        ("Domain", "", "domain_missing"),
        ("Domain", "harbour", "domain_invalid"),
        ("Domain", "com", "domain_invalid"),
    ),
    *(("Domain", "www.harbour.com", "domain_invalid"), ("Domain", "http://harbour.com/x", "domain_invalid")),
    *(("Domain", "me@harbour.com", "domain_invalid"), ("Domain", "har bour.com", "domain_invalid")),
    *(("Domain", "harbour.notatld", "domain_invalid"), ("Domain", "-harbour.com", "domain_invalid")),
    *(("Domain", "har_bour.com", "domain_invalid"), ("Domain", "192.0.2.1", "domain_invalid")),
    *(("Domain", "co.uk", "domain_invalid"), ("Domain", "a" * 64 + ".com", "domain_invalid")),
    *(("Registrar", "r" * 101, "text_too_long"), ("Notes", "n" * 5_001, "text_too_long")),
    *(("Registered", "2023-02-29", "date_invalid"), ("Registered", "31/31/2020", "date_invalid")),
    *(("Registered", "1/2/20", "date_invalid"), ("Registered", "44524", "date_invalid")),
    *(("Registered", "1066-01-01", "date_invalid"), ("Expires", "never", "date_invalid")),
    *(("Expires", "2027-13-01", "date_invalid"), ("Expires", "Foo 13 2027", "date_invalid")),
    *(("Expires", "2027-01-01 25:00", "date_invalid"), ("Expires", "99999", "date_invalid")),
    *(
        ("Auto Renew", "perhaps", "flag_invalid"),
        ("Locked", "2", "flag_invalid"),
        ("Privacy", "?", "flag_invalid"),
    ),
    *(("Pinned", "very", "flag_invalid"), ("Renewal Price", "-9.99", "amount_negative")),
    *(("Renewal Price", "(9.99)", "amount_negative"), ("Renewal Price", "ten", "amount_invalid")),
    *(("Renewal Price", "9.999", "amount_invalid"), ("Renewal Price", "€9.99", "currency_conflict")),
    *(("Asking Price", "1.2.3,4,5", "amount_invalid"), ("Asking Price", "¥1200.50", "currency_conflict")),
    *(("Asking Price", "make offer", "amount_invalid"), ("Asking Price", "1e6", "amount_invalid")),
    *(("Min Offer", "99999999999999999", "amount_invalid"), ("Min Offer", "$5 EUR", "currency_conflict")),
    *(("Value", "5 bitcoins", "amount_invalid"), ("Currency", "dollars", "currency_invalid")),
    *(("Tags", ",".join(f"t{each}" for each in range(51)), "too_many_words"), ("Tags", "t" * 51, "text_too_long")),
    *(("Purchase Date", "yesterday", "date_invalid"), ("Purchase Price", "free", "amount_invalid")),
    *(("Sale Date", "2026-02-30", "date_invalid"), ("Sale Price", "much", "amount_invalid")),
    *(("Ownership", "borrowed", "ownership_unknown"), ("Revenue Share", "150", "percent_invalid")),
    *(("Name Servers", "ns1_.x y", "nameserver_invalid"), ("Years", "0", "number_invalid")),
)


def hand_made(held: Sequence[Held]) -> tuple[str, Sequence[tuple[int, str, str]], int]:
    """A sheet in which each good row has a bad one behind it.

    Also the line, column and code of each bad row, and the number of good rows.
    """
    columns = SHEET.split(",")
    lines = [SHEET]
    wrong = list[tuple[int, str, str]]()
    good = list(islice(cycle(held), len(BAD_CELLS)))
    for each, (column, cell, code) in zip(good, BAD_CELLS, strict=True):
        row = dict.fromkeys(columns, "") | {"Domain": each.name, "Currency": "USD", "Notes": "two\nlines"}
        lines.append(_line(row.values()))
        line = sum(text.count("\n") + 1 for text in lines) + 1
        lines.append(_line((row | {"Notes": ""} | {column: cell}).values()))
        wrong.append((line, column, code))
    line = sum(text.count("\n") + 1 for text in lines) + 1
    lines += ['"left open.com,x', f"{held[0].name}{',' * len(columns)}surplus"]
    return (
        "\n".join([*lines, ""]),
        [*wrong, (line, "", "csv_malformed"), (line + 1, "", "too_many_cells")],
        len(good),
    )


def _line(cells: Iterable[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().removesuffix("\n")
