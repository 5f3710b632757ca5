# Written by script/clients.
"""Operations: catalog."""

from typing import Unpack

from builders_client.aio.pages import AsyncPages
from builders_client.aio.sender import AsyncSender
from builders_client.generated.bodies.catalog import CatalogFunnelEventRequest
from builders_client.generated.models.catalog import (
    CatalogDomainReply,
    CatalogDomainReplyPage,
    CategoriesReply,
    CheckReply,
    FunnelReply,
    SuggestReply,
)
from builders_client.values import File


class AsyncCatalog:
    """The public catalog: domains, prices, availability of names and suggestions."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client

    async def check(
        self,
        *,
        local_part: str,
        domain: str,
    ) -> CheckReply:
        """Check whether a name can be claimed: always 200, with the reason and alternatives when it cannot.

        Requires no credentials.

        Args:
            local_part: The part of the address before the @.
            domain: Domain in Unicode or as an A-label.
        """
        return await self._client.send(
            "catalog_check", CheckReply, query={"local_part": local_part, "domain": domain}
        )

    async def get_asset(
        self,
        filename: str,
    ) -> File:
        """Read an image of the catalog. Its name is the hash of its content, so it can be cached without limit.

        Requires no credentials.

        Errors: `asset_not_found`.

        Args:
            filename: `filename` of an asset of a domain.
        """
        return await self._client.send("catalog_get_asset", File, path={"filename": filename})

    async def get_domain(
        self,
        domain: str,
    ) -> CatalogDomainReply:
        """Read one domain of the catalog by either form of its name, `bücher.example` or its A-label.

        Requires no credentials.

        Errors: `domain_not_found`.

        Args:
            domain: Name of the domain, in Unicode or as an A-label.
        """
        return await self._client.send("catalog_get_domain", CatalogDomainReply, path={"domain": domain})

    async def list_categories(
        self,
    ) -> CategoriesReply:
        """List the categories of the catalog in their display order.

        Requires no credentials.
        """
        return await self._client.send("catalog_list_categories", CategoriesReply)

    def list_domains(
        self,
        *,
        category: str | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[CatalogDomainReplyPage, CatalogDomainReply]:
        """List the domains of the catalog by rank; with `q`, prefix matches are first.

        Requires no credentials.

        Args:
            category: Slug of a category.
            q: Beginning of a name, or part of a name, title or tag; case is ignored.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "catalog_list_domains",
            CatalogDomainReplyPage,
            "items",
            query={"category": category, "q": q, "limit": limit, "cursor": cursor},
        )

    async def record_events(
        self,
        **body: Unpack[CatalogFunnelEventRequest],
    ) -> FunnelReply:
        """Record a visitor's `view`, `check` or `claim`, or up to 50 of them at once; a repeat counts once.

        JSON can also be sent as `text/plain`, as `sendBeacon` does. The limit is 8 KB for an event and 64 KB
        for a batch.

        Requires no credentials.
        """
        return await self._client.send("catalog_record_events", FunnelReply, body=body)

    async def suggest(
        self,
        *,
        q: str | None = None,
        limit: int | None = None,
    ) -> SuggestReply:
        """Suggest available names, each with its price and its score.

        Requires no credentials.

        Args:
            q: A name, words, or a beginning such as `jane@har`.
            limit: Maximum number of suggestions.
        """
        return await self._client.send("catalog_suggest", SuggestReply, query={"q": q, "limit": limit})
