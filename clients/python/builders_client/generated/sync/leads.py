# Written by script/clients.
"""Operations: leads."""

from typing import Unpack

from builders_client.generated.bodies.leads import BuildersWaitlistRequest, CreateLeadRequest
from builders_client.generated.bodies.shared import TokenForm
from builders_client.generated.models.leads import LeadConfirmedReply, LeadReply
from builders_client.generated.sync.sender import Sender
from builders_client.values import File


class Leads:
    """Contact forms and the builders waitlist."""

    def __init__(self, client: Sender) -> None:
        self._client = client

    def confirm(
        self,
        *,
        token: str,
    ) -> LeadConfirmedReply:
        """Confirm a lead by the emailed link; idempotent.

        `Accept: application/json` confirms at once. Otherwise, the response is a page with a button that
        confirms, because mail scanners also follow links.

        Requires no credentials.

        Args:
            token: Token of the emailed link.
        """
        return self._client.send("leads_confirm", LeadConfirmedReply, query={"token": token})

    def confirm_page(
        self,
        **body: Unpack[TokenForm],
    ) -> File:
        """Confirm a lead by the button of the link's page. The token is the only credential.

        Requires no credentials.
        """
        return self._client.send("leads_confirm_page", File, body=body)

    def create(
        self,
        **body: Unpack[CreateLeadRequest],
    ) -> LeadReply:
        """Submit an address, which receives a confirmation email.

        The response is the same for known and unknown addresses.

        Requires no credentials.
        """
        return self._client.send("leads_create", LeadReply, body=body)

    def join_waitlist(
        self,
        **body: Unpack[BuildersWaitlistRequest],
    ) -> LeadReply:
        """Join the builders waitlist: stored as a lead of the source `builders_waitlist`.

        Requires no credentials.
        """
        return self._client.send("leads_join_waitlist", LeadReply, body=body)
