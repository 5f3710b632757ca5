# Written by script/clients.
"""Operations: mail."""

from builders_client.generated.sync.sender import Sender
from builders_client.values import File


class Mail:
    """Unsubscribe links of emails."""

    def __init__(self, client: Sender) -> None:
        self._client = client

    def show_unsubscribe(
        self,
        token: str,
    ) -> File:
        """Show the page of an unsubscribe link; its button unsubscribes.

        Requires no credentials.

        Args:
            token: Token of the unsubscribe link in an email.
        """
        return self._client.send("mail_show_unsubscribe", File, path={"token": token})

    def unsubscribe(
        self,
        token: str,
    ) -> File:
        """Unsubscribe the recipient of an email (RFC 8058); can be repeated.

        Requires no credentials.

        Args:
            token: Token of the unsubscribe link in an email.
        """
        return self._client.send("mail_unsubscribe", File, path={"token": token})
