# Written by script/clients.
"""Operations: domains."""

from typing import Unpack

from builders_client.aio.pages import AsyncPages
from builders_client.aio.sender import AsyncSender
from builders_client.generated.bodies.domains import DomainCreate, DomainUpdate
from builders_client.generated.models.domains import (
    AccountDomainReply,
    AccountDomainReplyPage,
    AccountDomainVerified,
    AccountDomainWritten,
    ClaimableReply,
    ClaimableReplyPage,
)


class AsyncDomains:
    """Domains of the account: verification by DNS, mail health, and where names can be claimed."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client

    async def add(
        self,
        **body: Unpack[DomainCreate],
    ) -> AccountDomainWritten:
        """Add a domain to the account; the response has the DNS record that proves the ownership.

        Requires the scope `domains:write`.

        Errors: `domain_exists`, `domain_in_catalog`, `domain_limit`.
        """
        return await self._client.send("domains_add", AccountDomainWritten, body=body)

    async def change(
        self,
        id: str,
        *,
        if_match: str | None = None,
        **body: Unpack[DomainUpdate],
    ) -> AccountDomainWritten:
        """Change the default destination of a domain, and whether it receives all mail of the domain.

        Requires the scope `domains:write`.

        Errors: `account_domain_not_found`, `domain_released`, `version_mismatch`.

        Args:
            id: Identifier of the account domain.
            if_match: `ETag` of the version to change; 412 if another one is current.
        """
        return await self._client.send(
            "domains_change", AccountDomainWritten, path={"id": id}, headers={"If-Match": if_match}, body=body
        )

    async def get_domain(
        self,
        id: str,
    ) -> AccountDomainReply:
        """Read a domain of the account, active or released.

        Requires the scope `domains:read`.

        Errors: `account_domain_not_found`.

        Args:
            id: Identifier of the account domain.
        """
        return await self._client.send("domains_get_domain", AccountDomainReply, path={"id": id})

    def list_claimable(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[ClaimableReplyPage, ClaimableReply]:
        """List domains on which names can be claimed: own live ones by name, then live ones of the catalog by
        rank.

        The list has no catch-all domains and no duplicates. Without `limit`, a page has up to 1,000 domains.

        Requires the scope `domains:read`.

        Args:
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "domains_list_claimable",
            ClaimableReplyPage,
            "items",
            query={"limit": limit, "cursor": cursor},
        )

    def list_domains(
        self,
        *,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[AccountDomainReplyPage, AccountDomainReply]:
        """List the account's domains by name, without released ones.

        Requires the scope `domains:read`.

        Args:
            q: Only domains whose name contains this text, in Unicode or ASCII.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "domains_list_domains",
            AccountDomainReplyPage,
            "items",
            query={"q": q, "limit": limit, "cursor": cursor},
        )

    async def release(
        self,
        id: str,
        *,
        if_match: str | None = None,
    ) -> AccountDomainReply:
        """Release a domain without names; a repeated request has no effect.

        Requires the scope `domains:write`.

        Errors: `account_domain_not_found`, `domain_in_use`, `version_mismatch`.

        Args:
            id: Identifier of the account domain.
            if_match: `ETag` of the version to change; 412 if another one is current.
        """
        return await self._client.send(
            "domains_release", AccountDomainReply, path={"id": id}, headers={"If-Match": if_match}
        )

    async def verify(
        self,
        id: str,
    ) -> AccountDomainVerified:
        """Check the ownership record and the mail records of a domain in DNS now, and return the result.

        In a sandbox the domain is live at once, without DNS.

        Requires the scope `domains:write`.

        Errors: `account_domain_not_found`, `domain_released`, `domain_taken`.

        Args:
            id: Identifier of the account domain.
        """
        return await self._client.send("domains_verify", AccountDomainVerified, path={"id": id})
