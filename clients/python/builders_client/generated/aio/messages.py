# Written by script/clients.
"""Operations: messages."""

from builders_client.aio.pages import AsyncPages
from builders_client.aio.sender import AsyncSender
from builders_client.generated.models.messages import MessageReply, MessageReplyPage


class AsyncMessages:
    """Notices mailed to the account, with opens and clicks."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client

    def list_messages(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[MessageReplyPage, MessageReply]:
        """List the emailed notices of the account, newest first, with opens and clicks; kept for 90 days.

        Requires the scope `account:read`.

        Args:
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "messages_list_messages",
            MessageReplyPage,
            "items",
            query={"limit": limit, "cursor": cursor},
        )
