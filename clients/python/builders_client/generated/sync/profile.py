# Written by script/clients.
"""Operations: profile."""

from typing import Unpack

from builders_client.generated.bodies.profile import CustomerProfileUpdate
from builders_client.generated.bodies.shared import TokenForm
from builders_client.generated.models.profile import (
    ConfirmationReply,
    ProfileReply,
    ProfileUpdated,
    ResendReply,
    VerificationReply,
)
from builders_client.generated.sync.sender import Sender
from builders_client.values import File


class Profile:
    """The profile of the account and the verification of its email address."""

    def __init__(self, client: Sender) -> None:
        self._client = client

    def confirm(
        self,
        *,
        token: str,
    ) -> ConfirmationReply:
        """Confirm an address by the token of its link. Does not sign in. Idempotent.

        `Accept: application/json` confirms at once. Otherwise, the response is a page with a button that
        confirms, because mail scanners also follow links.

        Requires no credentials.

        Errors: `email_taken`.

        Args:
            token: Token of the link in the email.
        """
        return self._client.send("profile_confirm", ConfirmationReply, query={"token": token})

    def confirm_page(
        self,
        **body: Unpack[TokenForm],
    ) -> File:
        """Confirm an address by the form on the page of the link.

        The request can have any origin: only the token counts, and the session of the browser does not change.

        Requires no credentials.

        Errors: `email_taken`.
        """
        return self._client.send("profile_confirm_page", File, body=body)

    def get(
        self,
        *,
        if_none_match: str | None = None,
    ) -> ProfileReply:
        """Read the profile of the account. A test key reads the profile of the real account.

        Requires the scope `account:read`.

        Args:
            if_none_match: `ETag` of your version: the response is 304 while it is current.
        """
        return self._client.send("profile_get", ProfileReply, headers={"If-None-Match": if_none_match})

    def get_verification(
        self,
    ) -> VerificationReply:
        """Read the verification of the account's email address.

        Requires the scope `account:read`.
        """
        return self._client.send("profile_get_verification", VerificationReply)

    def resend(
        self,
    ) -> ResendReply:
        """Resend the verification message, unless no address is pending.

        Requires the scope `account:write`.
        """
        return self._client.send("profile_resend", ResendReply)

    def update(
        self,
        *,
        if_match: str | None = None,
        **body: Unpack[CustomerProfileUpdate],
    ) -> ProfileUpdated:
        """Update the profile of the account by a merge patch. A new address needs a live key and a confirmation.

        While plans of the account need an approval, a new address needs a person who has signed in lately.

        Requires the scope `account:write`.

        Errors: `version_mismatch`.

        Args:
            if_match: `ETag` of the version to change; 412 if another one is current.
        """
        return self._client.send("profile_update", ProfileUpdated, headers={"If-Match": if_match}, body=body)
