# Written by script/clients.
"""Operations: messages."""

from builders_client.generated.models.messages import MessageReply, MessageReplyPage
from builders_client.generated.sync.pages import Pages
from builders_client.generated.sync.sender import Sender


class Messages:
    """Notices mailed to the account, with opens and clicks."""

    def __init__(self, client: Sender) -> None:
        self._client = client

    def list_messages(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[MessageReplyPage, MessageReply]:
        """List the emailed notices of the account, newest first, with opens and clicks; kept for 90 days.

        Requires the scope `account:read`.

        Args:
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return Pages(
            self._client,
            "messages_list_messages",
            MessageReplyPage,
            "items",
            query={"limit": limit, "cursor": cursor},
        )
