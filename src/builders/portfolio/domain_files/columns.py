"""The columns of tables with domains: of registrars, marketplaces, other programs and hand-made sheets.

A column that is a field of a domain has its name. A vendor's own words for a value are ignored with a warning.
"""

import re
from collections.abc import Sequence

from builders.kit.sheets.cells import (
    BLANK,
    CellRefused,
    choice,
    number,
    read_flag,
    shown,
    text,
    words,
)
from builders.kit.sheets.columns import Amount, Column, Currency, Day, Moment, Percent, Row
from builders.kit.sheets.kinds import TableKind
from builders.kit.values import domain_names, texts
from builders.portfolio.domain_files.amounts import read_decisions, read_entries, read_parking, read_sales
from builders.portfolio.domains import names
from builders.portfolio.domains.errors import NameInvalid
from builders.portfolio.domains.fields import MAX_NAMESERVERS, MAX_NOTES, MAX_TAG, MAX_TAGS, MAX_TEXT
from builders.portfolio.domains.records import (
    MAX_STATUSES,
    DomainName,
    ExpirySource,
    Ownership,
    PortfolioDomainStatus,
)
from builders.portfolio.ledger.records import MAX_TERM_TEXT, MAX_YEARS, EntryKind

_SEPARATORS = re.compile(r"[\s,;|]+")
_NS = re.compile(r"\b(?:ns|dns)\s*:", re.IGNORECASE)  # before the names, as Dynadot writes them
_EPP_STATUS = re.compile(
    r"(?:add|autoRenew|renew|transfer|redemption)Period|inactive|ok|pending(?:Create|Delete|Renew|Restore|Transfer|Update)"
    r"|(?:client|server)(?:Hold|(?:Delete|Renew|Transfer|Update)Prohibited)",
    re.IGNORECASE,
)
_STATUSES = {
    "owned": ("active", "registered", "ok", "held", "in use", "parked", "portfolio"),
    "leased": ("rented", "lease"),
    "consigned": ("consignment",),
    "listed": ("for sale", "on sale", "published"),
    "dropped": ("deleted", "abandoned"),
    "transferred_out": ("transferred", "transferred away", "moved"),
}
_PURCHASES = {
    "acquisition": (
        *("purchase", "purchased", "aftermarket", "bought", "auction", "buy", "backorder", "expired auction"),
        "private purchase",
    ),
    "registration": ("registered", "hand registration", "hand reg", "handreg", "new", "register", "reg"),
}


def _name(cell: str) -> DomainName:
    try:
        return names.parse_name(cell)
    except NameInvalid as refusal:
        meant = refusal.did_you_mean
        hint = f" Did you mean {meant}?" if meant and meant not in refusal.message else ""
        raise CellRefused("domain_invalid", f"{refusal.message}{hint}", did_you_mean=meant) from None


def _purchase_kind(cell: str) -> EntryKind:
    kind = choice(EntryKind, "purchase_kind_unknown", _PURCHASES)(cell)
    if kind.value not in _PURCHASES:
        raise CellRefused(
            "purchase_kind_unknown", f"{shown(cell)} is no purchase. Write acquisition or registration."
        )
    return kind


def _nameservers(cell: str) -> Sequence[str] | None:
    written = [each for each in _SEPARATORS.split(_NS.sub(" ", cell)) if each and each.lower() not in BLANK]
    hosts = dict[str, None]()
    for each in written:
        host = domain_names.find_a_label(each)
        if host is None:
            raise CellRefused("nameserver_invalid", f"{shown(each)} is not a host name. Write ns1.harbour.com.")
        hosts[host] = None
    if len(hosts) > MAX_NAMESERVERS:
        raise CellRefused("too_many_nameservers", f"A domain has at most {MAX_NAMESERVERS} name servers.")
    return list(hosts) or None


def _epp_statuses(cell: str) -> Sequence[str] | None:
    """Return the EPP statuses in the cell; vendors add their own, which are ignored."""
    found = [each for each in _SEPARATORS.split(cell) if _EPP_STATUS.fullmatch(each)]
    return list(dict.fromkeys(found))[:MAX_STATUSES] or None


class DomainRow(Row):
    """A row with a domain. The headers of a column are in English; `headers.toml` has those of other languages."""

    domain = Column(
        *("domain name", "domains", "name", "domain names", "fqdn", "url", "website", "host"),
        read=_name,
        type="domain",
        required=True,
    )
    status = Column(
        *("state", "domain status"),
        read=choice(PortfolioDomainStatus, "status_unknown", _STATUSES),
    )
    ownership = Column("ownership type", read=choice(Ownership, "ownership_unknown"))
    counterparty = Column(
        *("owner", "consignor", "lessor", "partner", "client"),
        read=text(MAX_TEXT),
    )
    revenue_share = Percent(
        *("share", "commission share", "split", "share percent", "revenue share percent"),
    )
    registrar = Column(
        *("registrar name", "provider", "registrar account", "domain registrar"),
        read=text(MAX_TEXT),
    )
    registered_on = Day(
        *("registered", "registration date", "create date", "created", "creation date", "date registered"),
        *("registered date", "registered at", "created at", "created date"),
    )
    acquired_on = Day(
        *("acquired", "acquisition date", "acquired date", "date acquired"),
    )
    expires_at = Moment(
        *("expires", "expiry", "expiry date", "expiration", "expiration date", "expire date", "expires on"),
        *("renewal date", "exp date", "valid until", "paid until", "expires date"),
    )
    expiry_source = Column(read=choice(ExpirySource, "expiry_source_unknown"))
    auto_renew = Column(
        *("auto renewal", "autorenew", "auto renew status", "renew", "renews"),
        read=read_flag,
    )
    locked = Column(
        *("lock", "transfer lock", "registrar lock", "domain lock"),
        read=read_flag,
    )
    privacy = Column(
        *("whois privacy", "privacy protection", "whois guard", "whoisguard", "id protection"),
        read=read_flag,
    )
    nameservers = Column(
        *("name servers", "nameserver", "name server", "ns", "dns", "dns servers"),
        read=_nameservers,
        is_name=True,
    )
    epp_statuses = Column("epp status", read=_epp_statuses)
    renewal_price = Amount(
        *("renewal fee", "renewal cost", "renew price", "annual cost", "yearly cost", "renewal"),
        currency="renewal_price_currency",
    )
    renewal_price_currency = Currency("renewal currency", "renewal fee currency")
    asking_price = Amount(
        *("asking", "ask", "bin", "bin price", "buy now", "buy now price", "list price", "listing price", "price"),
        currency="asking_price_currency",
    )
    asking_price_currency = Currency("asking currency", "price currency", "bin currency")
    min_offer = Amount(
        *("minimum offer", "min price", "minimum price", "floor price", "starting offer"),
        currency=("min_offer_currency", "asking_price_currency"),  # lists name one currency of both
    )
    min_offer_currency = Currency("minimum offer currency")
    estimated_value = Amount(
        *("estimate", "estimated price", "appraisal", "value", "valuation", "godaddy value", "estibot"),
        currency="estimated_value_currency",
    )
    estimated_value_currency = Currency("value currency", "estimated currency")
    tags = Column(
        *("tag", "labels", "label", "category", "categories", "keywords"),
        read=words(MAX_TAG, most=MAX_TAGS),
    )
    folder = Column(
        *("group", "portfolio", "folder name"),
        read=text(MAX_TEXT),
    )
    notes = Column(
        *("note", "comment", "comments", "remark", "remarks", "description", "memo"),
        read=text(MAX_NOTES, texts.cleaned),
    )
    pinned = Column("favorite", "favourite", "keep", read=read_flag)
    currency = Currency("ccy", "curr")  # of the row's amounts without one
    purchase_kind = Column("purchase type", "acquisition type", "acquisition kind", read=_purchase_kind)
    purchase_date = Day(
        *("purchased", "purchased on", "bought", "bought on", "date purchased", "date bought", "paid date"),
    )
    purchase_amount = Amount(
        *(
            "purchase price",
            "purchase cost",
            "cost",
            "price paid",
            "paid",
            "acquisition cost",
            "acquisition price",
        ),
        "bought for",
        currency="purchase_currency",
    )
    purchase_currency = Currency("cost currency", "acquisition currency")
    purchase_years = Column("years", read=number(MAX_YEARS))
    sale_date = Day(
        *("sold", "sold on", "sold date", "date sold", "date of sale"),
    )
    sale_amount = Amount(
        *("sale price", "sold price", "sold for", "sales price", "selling price"),
        currency="sale_currency",
    )
    sale_currency = Currency("sold currency")
    sale_commission = Amount(
        *("commission", "commission amount", "commission fee", "sales commission"),
        currency="sale_currency",
    )
    sale_commission_rate = Percent(
        *("commission rate", "commission percent"),
    )
    sale_fee = Amount(
        *("marketplace fee", "transaction fee", "fee", "fees"),
        currency="sale_currency",
    )
    sale_escrow_fee = Amount("escrow fee", currency="sale_currency")
    sale_net = Amount(
        *(
            "sold net",
            "net",
            "net amount",
            "net proceeds",
            "payout",
            "payout amount",
            "seller payout",
            "you receive",
        ),
        currency="sale_currency",
    )
    sale_venue = Column(
        *("venue", "marketplace", "sold at", "sold via"),
        read=text(MAX_TERM_TEXT),
    )
    buyer_ref = Column(
        *("buyer reference", "buyer", "buyer id", "sale id", "transaction id", "transfer id"),
        read=text(MAX_TERM_TEXT),
    )
    # JSON as the export writes it.
    entries = Column(read=read_entries)  # of the ledger without sales and parking
    sales = Column(read=read_sales)
    parking = Column(read=read_parking)
    renewal_decisions = Column(read=read_decisions)  # one, as a list


PRICES = ("renewal_price", "asking_price", "min_offer", "estimated_value")  # of a domain
DOMAINS = TableKind(
    name="domains",
    row=DomainRow,
    path="/v1/portfolio/import",
    package="builders.portfolio.domain_files",
    key="domain",
    merges_rows=True,
)
