# Written by script/clients.
"""Operations: tracking."""

from builders_client.aio.sender import AsyncSender
from builders_client.generated.models.tracking import LinkReply
from builders_client.values import File


class AsyncTracking:
    """Open and click links of emails."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client

    async def follow_link(
        self,
        token: str,
        *,
        u: str,
        m: str,
    ) -> LinkReply:
        """Follow a link of an email: 302 to `u` for browsers, the target as JSON for other clients.

        Requires no credentials.

        Args:
            token: Token of the email, from its links.
            u: Target of the link.
            m: Signature of the token and `u`.
        """
        return await self._client.send(
            "tracking_follow_link", LinkReply, path={"token": token}, query={"u": u, "m": m}
        )

    async def open_mail(
        self,
        token: str,
    ) -> File:
        """Record the open of an email; the image does not depend on the token.

        Requires no credentials.

        Args:
            token: Token of the email, from its links.
        """
        return await self._client.send("tracking_open_mail", File, path={"token": token})
