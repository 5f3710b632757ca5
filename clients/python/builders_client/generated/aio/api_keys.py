# Written by script/clients.
"""Operations: api_keys."""

from typing import Unpack

from builders_client.aio.pages import AsyncPages
from builders_client.aio.sender import AsyncSender
from builders_client.generated.bodies.api_keys import ApiKeyCreate, ApiKeyRotate, ScopesRemove
from builders_client.generated.models.api_keys import (
    ApiKeyCreated,
    ApiKeyItem,
    ApiKeyItemPage,
    ApiKeyReply,
    ApiKeyReplyListing,
    ScopeReplyListing,
)


class AsyncApiKeys:
    """API keys, their presets and scopes."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client

    async def create(
        self,
        **body: Unpack[ApiKeyCreate],
    ) -> ApiKeyCreated:
        """Mint an API key. Only this response contains the secret.

        Requires the scope `keys:write`.

        Errors: `api_key_limit`.
        """
        return await self._client.send("api_keys_create", ApiKeyCreated, body=body)

    async def enable(
        self,
        key_id: str,
    ) -> ApiKeyReply:
        """Enable an API key that a restore disabled.

        Requires the scope `keys:write`.

        Errors: `api_key_not_found`.

        Args:
            key_id: Identifier of the API key; not the secret.
        """
        return await self._client.send("api_keys_enable", ApiKeyReply, path={"key_id": key_id})

    async def get(
        self,
        key_id: str,
    ) -> ApiKeyReply:
        """Read one API key.

        Requires the scope `keys:read`.

        Errors: `api_key_not_found`.

        Args:
            key_id: Identifier of the API key; not the secret.
        """
        return await self._client.send("api_keys_get", ApiKeyReply, path={"key_id": key_id})

    def list_keys(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[ApiKeyItemPage, ApiKeyItem]:
        """List the account's API keys, newest first.

        Requires the scope `keys:read`.

        Args:
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client, "api_keys_list_keys", ApiKeyItemPage, "items", query={"limit": limit, "cursor": cursor}
        )

    async def list_scopes(
        self,
    ) -> ScopeReplyListing:
        """List every scope and the presets that hold it.

        Requires the scope `keys:read`.
        """
        return await self._client.send("api_keys_list_scopes", ScopeReplyListing)

    async def remove_scopes(
        self,
        key_id: str,
        **body: Unpack[ScopesRemove],
    ) -> ApiKeyReply:
        """Take scopes away from an API key or a connection for ever, as a person who has signed in.

        Requires the scope `keys:write`.

        Errors: `api_key_not_found`.

        Args:
            key_id: Identifier of the API key; not the secret.
        """
        return await self._client.send("api_keys_remove_scopes", ApiKeyReply, path={"key_id": key_id}, body=body)

    async def revoke(
        self,
        key_id: str,
    ) -> ApiKeyReply:
        """Revoke an API key; every process refuses it within a second.

        Requires the scope `keys:write`.

        Errors: `api_key_not_found`.

        Args:
            key_id: Identifier of the API key; not the secret.
        """
        return await self._client.send("api_keys_revoke", ApiKeyReply, path={"key_id": key_id})

    async def revoke_all(
        self,
    ) -> ApiKeyReplyListing:
        """Stop all machines: revoke all keys and connections, live and test, as a person who has signed in.

        Promotions that wait for an approval end, and no key starts one after the answer. `items` are the keys
        that worked until then. Every process refuses them within a second.

        Requires the scope `keys:write`.
        """
        return await self._client.send("api_keys_revoke_all", ApiKeyReplyListing)

    async def rotate(
        self,
        key_id: str,
        **body: Unpack[ApiKeyRotate],
    ) -> ApiKeyCreated:
        """Replace an API key; the old key works until the end of the overlap.

        Requires the scope `keys:write`.

        Errors: `api_key_not_found`, `api_key_revoked`, `rotation_in_progress`, `api_key_limit`.

        Args:
            key_id: Identifier of the API key; not the secret.
        """
        return await self._client.send("api_keys_rotate", ApiKeyCreated, path={"key_id": key_id}, body=body)
