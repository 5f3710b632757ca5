"""The domains on which an account can have names: those of the catalog, and its own, which cost nothing."""

from collections.abc import Mapping

from builders.aliases.records import PriceInterval
from builders.catalog.records import Assets, CatalogDomain, DomainStatus, MailMode, Price, PriceTier
from builders.domains.records import AccountDomain
from builders.kit.values.domain_names import unicode_of
from builders.kit.values.money import Money

FREE = Price(money=Money.zero("USD"), interval=PriceInterval.ONCE, tier=PriceTier.STANDARD)


def sites(
    catalog: Mapping[str, CatalogDomain], own: Mapping[str, AccountDomain], catch_all: Mapping[str, bool]
) -> dict[str, CatalogDomain]:
    """All of them by A-label, own ones first; `catch_all` is what the plan makes of them."""
    return {**catalog, **{label: _own(each, catch_all.get(label, each.catch_all)) for label, each in own.items()}}


def _own(domain: AccountDomain, catch_all: bool) -> CatalogDomain:
    """An own domain as if it were of the catalog, so that one rule decides about names on either."""
    return CatalogDomain(
        id=domain.id,
        domain=domain.domain,
        unicode_domain=unicode_of(domain.domain),
        title="",
        tagline="",
        description="",
        categories=(),
        tags=(),
        status=DomainStatus.LIVE,
        mail_mode=MailMode.BOTH,
        catch_all=catch_all,
        price=FREE,
        short_name_prices=(),
        rules=domain.rules,
        featured=False,
        rank=0,
        assets=Assets(),
        serial=0,
        created_at=domain.added_at,
        updated_at=domain.updated_at,
    )
