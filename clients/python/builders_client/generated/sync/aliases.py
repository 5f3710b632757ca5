# Written by script/clients.
"""Operations: aliases."""

from types import NoneType
from typing import Literal, Unpack

from builders_client.generated.bodies.aliases import (
    AliasUpdate,
    AnswerCreate,
    CorrespondentCreate,
    DestinationResend,
    ReceptionUpdate,
)
from builders_client.generated.bodies.shared import TokenForm
from builders_client.generated.models.aliases import (
    AliasRelease,
    AliasReply,
    AliasReplyPage,
    AliasWritten,
    CorrespondentReply,
    CorrespondentReplyPage,
    CorrespondentWritten,
    DestinationConfirmed,
    DestinationReply,
    DestinationReplyPage,
    DestinationResent,
    MailAnswerReply,
    MailMessageDetail,
    MailMessagesReply,
    MailReply,
    MailResultReply,
    ReceptionReply,
    ReceptionWritten,
)
from builders_client.generated.sync.pages import Pages
from builders_client.generated.sync.sender import Sender
from builders_client.values import File, TimeLike


class Aliases:
    """Claimed names, the mailboxes they forward to, and the recipients' confirmations."""

    def __init__(self, client: Sender) -> None:
        self._client = client

    def add_correspondent(
        self,
        alias_id: str,
        **body: Unpack[CorrespondentCreate],
    ) -> CorrespondentWritten:
        """Add someone to write to from a name with `reply`; returns the present reverse address if there is one.

        Requires the scope `aliases:write`.

        Errors: `alias_not_found`, `replies_disabled`, `correspondent_limit`.

        Args:
            alias_id: Identifier of the alias.
        """
        return self._client.send(
            "aliases_add_correspondent", CorrespondentWritten, path={"alias_id": alias_id}, body=body
        )

    def answer_message(
        self,
        alias_id: str,
        message_id: str,
        **body: Unpack[AnswerCreate],
    ) -> MailAnswerReply:
        """Answer the author of a message from the name, with the key or connection that its rule allows to.

        The answer goes to the address of From alone, if SPF or DKIM proved it, and never to a report or to
        automatic, bulk or list mail. Subject and threading are those of the message. The same text again sends
        nothing.

        Requires the scope `mail:read`.

        Errors: `alias_not_found`, `message_not_found`, `replies_disabled`, `message_unanswerable`.

        Args:
            alias_id: Identifier of the alias.
            message_id: Identifier of the message.
        """
        return self._client.send(
            "aliases_answer_message",
            MailAnswerReply,
            path={"alias_id": alias_id, "message_id": message_id},
            body=body,
        )

    def change(
        self,
        alias_id: str,
        *,
        if_match: str | None = None,
        **body: Unpack[AliasUpdate],
    ) -> AliasWritten:
        """Change the destinations or other members of a name by a merge patch. The rules of manifests apply.

        Requires the scope `aliases:write`.

        Errors: `alias_not_found`, `alias_suspended`, `alias_released`, `version_mismatch`.

        Args:
            alias_id: Identifier of the alias.
            if_match: `ETag` of the version to change; 412 if another one is current.
        """
        return self._client.send(
            "aliases_change", AliasWritten, path={"alias_id": alias_id}, headers={"If-Match": if_match}, body=body
        )

    def confirm_destination(
        self,
        *,
        token: str,
    ) -> DestinationConfirmed:
        """Public confirm link of a destination: its recipient agrees to receive mail.

        `Accept: application/json` confirms at once. Otherwise, the response is a page with a button that
        confirms, because mail scanners also follow links.

        Requires no credentials.

        Args:
            token: The token of the emailed link.
        """
        return self._client.send("aliases_confirm_destination", DestinationConfirmed, query={"token": token})

    def confirm_destination_page(
        self,
        **body: Unpack[TokenForm],
    ) -> File:
        """Confirm a destination with the button of the link's page. The token is the only credential.

        Requires no credentials.
        """
        return self._client.send("aliases_confirm_destination_page", File, body=body)

    def delete_correspondent(
        self,
        alias_id: str,
        correspondent_id: str,
    ) -> None:
        """Erase a correspondent: its reverse address receives no mail any more.

        Requires the scope `aliases:write`.

        Errors: `alias_not_found`, `correspondent_not_found`.

        Args:
            alias_id: Identifier of the alias.
            correspondent_id: Identifier of the correspondent.
        """
        return self._client.send(
            "aliases_delete_correspondent",
            NoneType,
            path={"alias_id": alias_id, "correspondent_id": correspondent_id},
        )

    def end_reception(
        self,
        alias_id: str,
    ) -> None:
        """Stop receiving the mail to a name as events, and delete the stored messages.

        Requires the scope `aliases:write`.

        Errors: `alias_not_found`, `reception_not_found`.

        Args:
            alias_id: Identifier of the alias.
        """
        return self._client.send("aliases_end_reception", NoneType, path={"alias_id": alias_id})

    def get(
        self,
        alias_id: str,
    ) -> AliasReply:
        """Read a name, active or released.

        Requires the scope `aliases:read`.

        Errors: `alias_not_found`.

        Args:
            alias_id: Identifier of the alias.
        """
        return self._client.send("aliases_get", AliasReply, path={"alias_id": alias_id})

    def get_attachment(
        self,
        alias_id: str,
        message_id: str,
        number: int,
    ) -> File:
        """Read an attachment of a message that the name received, as bytes to store and not to show.

        Requires the scope `mail:read`.

        Errors: `alias_not_found`, `message_not_found`.

        Args:
            alias_id: Identifier of the alias.
            message_id: Identifier of the message.
            number: Number of the attachment.
        """
        return self._client.send(
            "aliases_get_attachment", File, path={"alias_id": alias_id, "message_id": message_id, "number": number}
        )

    def get_message(
        self,
        alias_id: str,
        message_id: str,
    ) -> MailMessageDetail:
        """Read a message that the name received: its text as JSON if `Accept` names it, else the whole (RFC 5322).

        Within 72 hours, for the key or connection that the rule names, and the person in a fresh session.

        Requires the scope `mail:read`.

        Errors: `alias_not_found`, `message_not_found`.

        Args:
            alias_id: Identifier of the alias.
            message_id: Identifier of the message.
        """
        return self._client.send(
            "aliases_get_message", MailMessageDetail, path={"alias_id": alias_id, "message_id": message_id}
        )

    def get_reception(
        self,
        alias_id: str,
    ) -> ReceptionReply:
        """Read who gets the mail to a name as events.

        Requires the scope `aliases:read`.

        Errors: `alias_not_found`.

        Args:
            alias_id: Identifier of the alias.
        """
        return self._client.send("aliases_get_reception", ReceptionReply, path={"alias_id": alias_id})

    def list_aliases(
        self,
        *,
        domain: str | None = None,
        status: Literal["active", "disabled", "suspended", "deleted"] | None = None,
        project_id: str | None = None,
        manifest: str | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[AliasReplyPage, AliasReply]:
        """List the account's names, newest first. With a test key, list the names of its sandbox.

        Requires the scope `aliases:read`.

        Args:
            domain: Domain in Unicode or as an A-label.
            status: By default all except `deleted`.
            project_id: Only names of this project.
            manifest: Only names that this manifest manages.
            q: Beginning of the address.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return Pages(
            self._client,
            "aliases_list_aliases",
            AliasReplyPage,
            "items",
            query={
                "domain": domain,
                "status": status,
                "project_id": project_id,
                "manifest": manifest,
                "q": q,
                "limit": limit,
                "cursor": cursor,
            },
        )

    def list_correspondents(
        self,
        alias_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[CorrespondentReplyPage, CorrespondentReply]:
        """List to whom the owner writes from a name with `reply`, newest first.

        Requires the scope `aliases:read`.

        Errors: `alias_not_found`.

        Args:
            alias_id: Identifier of the alias.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return Pages(
            self._client,
            "aliases_list_correspondents",
            CorrespondentReplyPage,
            "items",
            path={"alias_id": alias_id},
            query={"limit": limit, "cursor": cursor},
        )

    def list_destinations(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[DestinationReplyPage, DestinationReply]:
        """List the present and former destinations of the account's names, and whether their recipients confirmed.

        Requires the scope `aliases:read`.

        Args:
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return Pages(
            self._client,
            "aliases_list_destinations",
            DestinationReplyPage,
            "items",
            query={"limit": limit, "cursor": cursor},
        )

    def list_mail(
        self,
        alias_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[MailReply, MailResultReply]:
        """List what happened to the mail of a name, newest first, with its counts by day.

        Results are kept for 7 days, up to 200 of a day, and counts for 90 days.

        Requires the scope `aliases:read`.

        Errors: `alias_not_found`.

        Args:
            alias_id: Identifier of the alias.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return Pages(
            self._client,
            "aliases_list_mail",
            MailReply,
            "items",
            path={"alias_id": alias_id},
            query={"limit": limit, "cursor": cursor},
        )

    def list_messages(
        self,
        alias_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        from_: str | None = None,
        since: TimeLike | None = None,
        wait: int | None = None,
    ) -> MailMessagesReply:
        """List the messages that a name received, newest first, up to 50 on a page; can wait for one.

        For the key or connection that the rule of the name names, and the person in a fresh session. With
        `wait` only mail that arrives after the begin of the request counts; `since` of the reply continues the
        wait.

        Requires the scope `mail:read`.

        Errors: `alias_not_found`, `reception_not_found`.

        Args:
            alias_id: Identifier of the alias.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
            from_: Only messages whose From is of this domain, or below it.
            since: Only messages that arrived from this time on.
            wait: Seconds to wait for a message if there is none.
        """
        return self._client.send(
            "aliases_list_messages",
            MailMessagesReply,
            path={"alias_id": alias_id},
            query={"limit": limit, "cursor": cursor, "from": from_, "since": since, "wait": wait},
        )

    def release(
        self,
        alias_id: str,
        *,
        if_match: str | None = None,
    ) -> AliasRelease:
        """Release a name: during its quarantine only you can claim it again. A repeated request has no effect.

        A release soon after the claim cancels the claim and its charge, once for each name. A later release
        does not refund the paid period, in which you can claim the name again without charge. `charges` has the
        outcome of each charge. A name that the operator suspended cannot be released.

        Requires the scope `aliases:write`.

        Errors: `alias_not_found`, `alias_suspended`, `version_mismatch`.

        Args:
            alias_id: Identifier of the alias.
            if_match: `ETag` of the version to change; 412 if another one is current.
        """
        return self._client.send(
            "aliases_release", AliasRelease, path={"alias_id": alias_id}, headers={"If-Match": if_match}
        )

    def resend_confirmation(
        self,
        **body: Unpack[DestinationResend],
    ) -> DestinationResent:
        """Send another confirmation to a destination, unless its recipient has confirmed.

        Requires the scope `aliases:write`.

        Errors: `destination_not_found`.
        """
        return self._client.send("aliases_resend_confirmation", DestinationResent, body=body)

    def set_reception(
        self,
        alias_id: str,
        **body: Unpack[ReceptionUpdate],
    ) -> ReceptionWritten:
        """Receive the mail to a name as events of one webhook, with content for one key or connection.

        Only a person who signed in during the last ten minutes can do this. The mail is forwarded to the
        destinations, too. Mail that has a signature of the service's own domain, or names an address of it, is
        forwarded only. A program gets no sign-in codes and approval links, unless another server forwards them
        without a trace of their origin. The address that signs in at the account is refused.

        Requires the scope `plans:approve`.

        Errors: `alias_not_found`, `sign_in_address`.

        Args:
            alias_id: Identifier of the alias.
        """
        return self._client.send("aliases_set_reception", ReceptionWritten, path={"alias_id": alias_id}, body=body)
