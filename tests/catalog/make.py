"""Catalogs for tests: files loaded by the public interface, and records for pure functions."""

import csv
import io
import itertools
from collections.abc import Iterable, Mapping
from decimal import Decimal
from math import inf
from pathlib import Path
from typing import Any

from builders.aliases.records import PriceInterval, Rules, SeparatorPolicy
from builders.app import Service
from builders.catalog import store
from builders.catalog.catalog_file import loader
from builders.catalog.records import (
    Assets,
    CatalogDomain,
    DomainStatus,
    LoadReport,
    MailMode,
    Price,
    PriceTier,
    ShortNamePrice,
)
from builders.catalog.snapshot import CatalogCache, Snapshot, build
from builders.kit.values import clock, ids
from builders.kit.values.domain_names import unicode_of
from builders.kit.values.money import Money

_numbers = itertools.count(1)


def fresh(label: str = "shop") -> str:
    """Return a domain that no other test has: the tests of a run share one catalog."""
    return f"{label}-{ids.new().hex[:12]}{next(_numbers)}.example"


def csv_of(rows: Iterable[Mapping[str, object]]) -> bytes:
    """Return the rows as a file with the columns of the first row."""
    listed = list(rows)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(listed[0]))
    writer.writeheader()
    writer.writerows(listed)
    return text.getvalue().encode()


async def catch_up(cache: CatalogCache) -> None:
    """Update the cache to the present state of the database without waiting for the next check."""
    async with cache._database.connection() as conn:
        version = await store.get_version(conn)
    while True:
        cache._checked = -inf
        await cache.current()
        if cache._updating is not None:
            await cache._updating
        if cache._snapshot.version >= version:  # false if the update began before the change
            return


class Loader:
    """Loads files from a folder into the catalog of the service."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.service, self.folder = service, folder
        self.assets = service.api.state.settings.data_dir / "assets"
        self._database, self._cache = service.api.state.database, service.api.state.catalog

    async def __call__(self, *rows: Mapping[str, object], raw: bytes | None = None, **options: Any) -> LoadReport:
        """Load the rows, or a file as it is, and update the cache of the service."""
        path = self.folder / "catalog.csv"
        path.write_bytes(csv_of(rows) if raw is None else raw)
        report = await loader.load(self._database, path=path, assets=self.assets, **options)
        await catch_up(self._cache)
        return report


def make_domain(
    domain: str,
    *,
    status: DomainStatus = DomainStatus.LIVE,
    catch_all: bool = False,
    categories: tuple[str, ...] = (),
    tags: tuple[str, ...] = (),
    title: str = "",
    rank: int = 0,
    featured: bool = False,
    tier: PriceTier = PriceTier.STANDARD,
    policy: SeparatorPolicy = SeparatorPolicy.IGNORE_DOTS,
    min_length: int = 1,
    bands: tuple[tuple[int, str], ...] = (),
) -> CatalogDomain:
    """Return a record as the store does."""
    return CatalogDomain(
        id=ids.new(),
        domain=domain,
        unicode_domain=unicode_of(domain),
        title=title,
        tagline="",
        description="",
        categories=categories,
        tags=tags,
        status=status,
        mail_mode=MailMode.BOTH,
        catch_all=catch_all,
        price=Price(money=Money(Decimal("12.00"), "USD"), interval=PriceInterval.YEAR, tier=tier),
        short_name_prices=tuple(
            ShortNamePrice(max_len=most, money=Money(Decimal(amount), "USD")) for most, amount in bands
        ),
        rules=Rules(min_length=min_length, separator_policy=policy),
        featured=featured,
        rank=rank,
        assets=Assets(),
        serial=1,
        created_at=clock.now(),
        updated_at=clock.now(),
    )


def make_snapshot(*domains: CatalogDomain) -> Snapshot:
    """Return a snapshot of the domains."""
    return build({domain.domain: domain for domain in domains if domain.public}, (), 1)
