"""The lists of more registrars, marketplaces and programs, and reports of sales and parking."""

from collections.abc import Sequence

from tests.portfolio.imports.vendors import DAY, Held, sheet, yes


def gandi(held: Sequence[Held]) -> bytes:
    rows = [
        [
            each.name,
            f"{each.registered}T10:00:00Z",
            f"{each.expires}T10:00:00Z",
            str(each.auto_renew).lower(),
            "a.gandi.net",
        ]
        for each in held
    ]
    return sheet("fqdn,registry_created_at,registry_ends_at,autorenew,nameservers", rows).encode()


def namecom(held: Sequence[Held]) -> bytes:
    header = "domainName,createDate,expireDate,autorenewEnabled,locked,privacyEnabled,nameservers,renewalPrice"
    rows = [
        [
            *(
                each.name,
                f"{each.registered}T10:00:00Z",
                f"{each.expires}T10:00:00Z",
                str(each.auto_renew).lower(),
            ),
            *(str(each.locked).lower(), str(each.private).lower(), "ns1.name.com,ns2.name.com", each.renewal),
        ]
        for each in held
    ]
    return sheet(header, rows).encode()


def sav(held: Sequence[Held]) -> bytes:
    header = "domain_id,domain_name,buy_now_price,date_added_to_account,date_expiration,auto_renew"
    rows = [
        [str(at), each.name, "0.00", f"{each.registered}", f"{each.expires} 10:00:00", str(int(each.auto_renew))]
        for at, each in enumerate(held)
    ]
    return sheet(header, rows).encode()


def netsol(held: Sequence[Held]) -> bytes:
    rows = [["9", "Ada", each.name, f"{each.expires:%m/%d/%Y}", str(each.auto_renew).lower()] for each in held]
    return sheet("Account No,Account Holder,Domain Name,Expiration Date,Auto Renew", rows).encode()


def hexonet(held: Sequence[Held]) -> bytes:
    rows = [[each.name, "ACTIVE", f"{each.expires} 10:00:00", "ns1.harbour.net"] for each in held]
    return sheet("Domain,Status,Renewal Date,Nameserver", rows).encode()


def parkio(held: Sequence[Held]) -> bytes:
    header = "Order ID,Domain,Created Date,Paid Date,Amount (USD),Expiration Date,On park.io"
    rows = [
        ["5", each.name, f"{each.registered}", f"{each.registered + DAY}", "99.00", f"{each.expires}", "1"]
        for each in held
    ]
    return sheet(header, rows).encode()


def dombot(held: Sequence[Held]) -> bytes:
    header = (
        "Domain,IDN,Status,Folder,Registrar,Account,Created,Expires,Auto-renew,Renewal price,Renewal currency,"
        "Purchase type,Purchase date,Purchase amount,Purchase currency,Purchase years"
    )
    rows = [
        [
            *(each.name, "", "Owned", "Ports", "INWX", "me", f"{each.registered}", f"{each.expires}"),
            *(yes(each.auto_renew), each.renewal, "EUR", "Registered", f"{each.registered}", "8.00", "EUR", "2"),
        ]
        for each in held
    ]
    return sheet(header, rows).encode()


def domainmod(held: Sequence[Held]) -> bytes:
    header = (
        "domain,expiry_date,function,auto_renewal,privacy,status,registration_fee,renewal_fee,fee_currency,"
        "domain_notes,registrar_password"
    )
    rows = [
        [
            *(each.name, f"{each.expires}", "Shop", yes(each.auto_renew), yes(each.private), "Active", "8.00"),
            *(each.renewal, "GBP", "fine", "hunter2"),
        ]
        for each in held
    ]
    return sheet(header, rows).encode()


def dan(held: Sequence[Held]) -> bytes:
    rows = [[each.name, "100", "75", "My description", ""] for each in held]
    return (
        b"example_with_prices,,,,\n"
        + sheet("Domain name,Buy now price,Starting offer,Description,", rows).encode()
    )


def german(held: Sequence[Held]) -> bytes:
    header = (
        "Domäne,Kaufdatum,Kaufpreis (EUR),Ablaufdatum,Automatische Verlängerung,Verlängerungspreis (EUR),Ordner"
    )
    rows = [
        [
            *(each.name, f"{each.registered:%d.%m.%Y}", "1.120,50", f"{each.expires:%d.%m.%Y}"),
            *("ja" if each.auto_renew else "nein", each.renewal.replace(".", ","), "Häfen"),
        ]
        for each in held
    ]
    return sheet(header, rows, delimiter=";").encode("cp1252")


def sales(held: Sequence[Held]) -> bytes:
    rows = [[each.name, "2026-03-01", "2500.00", "2000.00", f"T-{at}"] for at, each in enumerate(held)]
    rows.append(["unsold-harbour.com", "2026-03-01", "", "", "T-x"])
    return sheet("Domain,Sale Date,Price (USD),Payout,Transaction ID", rows).encode()


def bodis(held: Sequence[Held]) -> bytes:
    header = "domain,visits,landing_page_visits,zeroclick_visits,clicks,credited_revenue,rpm"
    rows = [[each.name, "1,120", "1100", "20", "31", f"{12 + at}.34", "11.02"] for at, each in enumerate(held)]
    rows.append(["not-mine.com", "1", "1", "0", "0", "0.10", "0"])
    return sheet(header, rows).encode()
