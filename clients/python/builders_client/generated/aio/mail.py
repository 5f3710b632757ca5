# Written by script/clients.
"""Operations: mail."""

from builders_client.aio.sender import AsyncSender
from builders_client.values import File


class AsyncMail:
    """Unsubscribe links of emails."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client

    async def show_unsubscribe(
        self,
        token: str,
    ) -> File:
        """Show the page of an unsubscribe link; its button unsubscribes.

        Requires no credentials.

        Args:
            token: Token of the unsubscribe link in an email.
        """
        return await self._client.send("mail_show_unsubscribe", File, path={"token": token})

    async def unsubscribe(
        self,
        token: str,
    ) -> File:
        """Unsubscribe the recipient of an email (RFC 8058); can be repeated.

        Requires no credentials.

        Args:
            token: Token of the unsubscribe link in an email.
        """
        return await self._client.send("mail_unsubscribe", File, path={"token": token})
