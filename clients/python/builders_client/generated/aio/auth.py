# Written by script/clients.
"""Operations: auth."""

from collections.abc import Mapping
from typing import Any, Unpack

from builders_client.aio.pages import AsyncPages
from builders_client.aio.sender import AsyncSender
from builders_client.generated.bodies.auth import (
    ConnectionDecisionCreate,
    DeviceAuthorizationCreate,
    DeviceCodeRequest,
    DeviceDecisionCreate,
    DeviceTokenRequest,
    LeakedKey,
    LoginAsRedeemRequest,
    LoginRedeem,
    LoginRequest,
)
from builders_client.generated.models.auth import (
    ConnectionDecision,
    ConnectionItem,
    ConnectionItemPage,
    ConnectionRequest,
    DeviceAuthorizationReply,
    DeviceKeysReply,
    DeviceRequestReply,
    JwksReply,
    LeakedKeyReply,
    LoginReply,
    LogoutReply,
    SessionItem,
    SessionItemPage,
    SessionReply,
    SignedInReply,
    WaitingConnectionListing,
)
from builders_client.values import File


class AsyncAuth:
    """Sign-in by email, sessions, login-as grants and the public keys of tokens."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client

    async def authorize(
        self,
        **body: Unpack[DeviceAuthorizationCreate],
    ) -> DeviceAuthorizationReply:
        """Ask for keys for a machine, which a person approves (RFC 8628).

        Requires no credentials.
        """
        return await self._client.send("auth_authorize", DeviceAuthorizationReply, body=body)

    async def begin_at_issuer(
        self,
        *,
        issuer: str,
        return_to: str | None = None,
    ) -> File:
        """Begin a sign-in at another issuer; redirects a browser there.

        Requires no credentials.

        Args:
            issuer: An issuer of the sign-in page.
            return_to: The path to open after signing in; a path of another site is ignored.
        """
        return await self._client.send(
            "auth_begin_at_issuer", File, query={"issuer": issuer, "return_to": return_to}
        )

    async def collect(
        self,
        **body: Unpack[DeviceTokenRequest],
    ) -> DeviceKeysReply:
        """Collect the keys of a machine once a person has approved it; poll at the `interval`.

        The first poll after the approval creates the keys. Within two minutes it can be repeated for a response
        that was lost: then the keys are revoked and created anew.

        Requires no credentials.

        Errors: `api_key_limit`.
        """
        return await self._client.send("auth_collect", DeviceKeysReply, body=body)

    async def decide(
        self,
        request_id: str,
        **body: Unpack[DeviceDecisionCreate],
    ) -> DeviceRequestReply:
        """Approve or deny the request of a machine; needs a person who has signed in lately.

        Until the machine has collected its keys, a denial takes an approval back.

        Requires the scope `plans:approve`.

        Errors: `device_request_not_found`, `device_request_ended`, `api_key_limit`.

        Args:
            request_id: Identifier of the request.
        """
        return await self._client.send(
            "auth_decide", DeviceRequestReply, path={"request_id": request_id}, body=body
        )

    async def decide_connection(
        self,
        request_id: str,
        **body: Unpack[ConnectionDecisionCreate],
    ) -> ConnectionDecision:
        """Connect a program with a mandate, or refuse; needs a person who has signed in lately.

        The browser takes the answer to the program. The account and its deciders get an email.

        Requires the scope `plans:approve`.

        Errors: `authorization_request_not_found`, `authorization_request_changed`, `api_key_limit`.

        Args:
            request_id: Identifier of the request.
        """
        return await self._client.send(
            "auth_decide_connection", ConnectionDecision, path={"request_id": request_id}, body=body
        )

    async def end_session(
        self,
        session_id: str,
    ) -> SessionItem:
        """End a session of the account; every process refuses its token within a second.

        While plans of the account need an approval, only a person who has signed in lately ends another
        session.

        Requires the scope `account:write`.

        Errors: `session_not_found`.

        Args:
            session_id: Identifier of the session.
        """
        return await self._client.send("auth_end_session", SessionItem, path={"session_id": session_id})

    async def finish_at_issuer(
        self,
        *,
        state: str | None = None,
        code: str | None = None,
        error: str | None = None,
        iss: str | None = None,
    ) -> File:
        """End a sign-in at another issuer, which sends the browser here; sets the cookie.

        Requires no credentials.

        Args:
            state: The state of the sign-in, from the issuer.
            code: The code of the issuer.
            error: Why the issuer refused.
            iss: The issuer (RFC 9207).
        """
        return await self._client.send(
            "auth_finish_at_issuer", File, query={"state": state, "code": code, "error": error, "iss": iss}
        )

    async def get_request(
        self,
        request_id: str,
    ) -> DeviceRequestReply:
        """Read the request of a machine whose code a person of the account has typed.

        Requires the scope `plans:approve`.

        Errors: `device_request_not_found`.

        Args:
            request_id: Identifier of the request.
        """
        return await self._client.send("auth_get_request", DeviceRequestReply, path={"request_id": request_id})

    async def get_session(
        self,
    ) -> SessionReply:
        """Read the session: the account, the credentials of the request, and their scopes.

        Requires the scope `account:read`.
        """
        return await self._client.send("auth_get_session", SessionReply)

    async def list_connection_requests(
        self,
    ) -> WaitingConnectionListing:
        """List the programs that ask for a connection in this browser, and wait for a decision.

        Requires the scope `account:read`.
        """
        return await self._client.send("auth_list_connection_requests", WaitingConnectionListing)

    def list_connections(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[ConnectionItemPage, ConnectionItem]:
        """List the programs that people have connected to the account, newest first.

        Requires the scope `keys:read`.

        Args:
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "auth_list_connections",
            ConnectionItemPage,
            "items",
            query={"limit": limit, "cursor": cursor},
        )

    async def list_public_keys(
        self,
    ) -> JwksReply:
        """List the public keys that verify our tokens.

        Requires no credentials.
        """
        return await self._client.send("auth_list_public_keys", JwksReply)

    def list_sessions(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[SessionItemPage, SessionItem]:
        """List the account's active sessions, newest first, with support sessions; none with a test key.

        Requires the scope `account:read`.

        Args:
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client, "auth_list_sessions", SessionItemPage, "items", query={"limit": limit, "cursor": cursor}
        )

    async def log_out(
        self,
    ) -> LogoutReply:
        """End the session of the request, and delete its cookie.

        Requires the scope `account:read`.

        Errors: `no_session`.
        """
        return await self._client.send("auth_log_out", LogoutReply)

    async def login_as(
        self,
        **body: Unpack[LoginAsRedeemRequest],
    ) -> SignedInReply:
        """Redeem a login-as grant once: support signs in as the account for an hour; sets the cookie.

        Requires no credentials.
        """
        return await self._client.send("auth_login_as", SignedInReply, body=body)

    async def open_connection_request(
        self,
        request_id: str,
    ) -> ConnectionRequest:
        """Read which program asks for a connection in this browser; needs a person who has signed in lately.

        It fetches the program's description.

        Requires the scope `plans:approve`.

        Errors: `authorization_request_not_found`.

        Args:
            request_id: Identifier of the request.
        """
        return await self._client.send(
            "auth_open_connection_request", ConnectionRequest, path={"request_id": request_id}
        )

    async def open_request(
        self,
        **body: Unpack[DeviceCodeRequest],
    ) -> DeviceRequestReply:
        """Open the request of a machine by the code that it shows; needs a person who has signed in lately.

        Requires the scope `plans:approve`.
        """
        return await self._client.send("auth_open_request", DeviceRequestReply, body=body)

    async def redeem_login(
        self,
        **body: Unpack[LoginRedeem],
    ) -> SignedInReply:
        """Sign in with the emailed code or the token of the link; sets the cookie.

        Requires no credentials.
        """
        return await self._client.send("auth_redeem_login", SignedInReply, body=body)

    async def redeem_page(
        self,
        body: Mapping[str, Any],
    ) -> File:
        """Sign in with the form of a page: the token of a link, or a code with its email address; sets the cookie.

        Requires no credentials.
        """
        return await self._client.send("auth_redeem_page", File, body=body)

    async def report_leaked_key(
        self,
        **body: Unpack[LeakedKey],
    ) -> LeakedKeyReply:
        """Revoke an API key that you found, whoever it belongs to. Its account gets an email.

        A repeated report changes nothing. Every process refuses the key within a second.

        Requires no credentials.
        """
        return await self._client.send("auth_report_leaked_key", LeakedKeyReply, body=body)

    async def request_login(
        self,
        **body: Unpack[LoginRequest],
    ) -> LoginReply:
        """Send a one-time code and a link to an email address; the response is the same without an account.

        The body is JSON; a browser sends a form and gets the page (`text/html`) with the form for the code.

        Requires no credentials.
        """
        return await self._client.send("auth_request_login", LoginReply, body=body)

    async def revoke_connection(
        self,
        connection_id: str,
    ) -> ConnectionItem:
        """Revoke a connection with its tokens; every process refuses them within a second.

        Requires the scope `keys:write`.

        Errors: `connection_not_found`.

        Args:
            connection_id: Identifier of the connection.
        """
        return await self._client.send(
            "auth_revoke_connection", ConnectionItem, path={"connection_id": connection_id}
        )

    async def show_login(
        self,
        *,
        token: str | None = None,
        return_to: str | None = None,
    ) -> File:
        """Show the sign-in form, or with `token` the page of an emailed link, whose button signs in.

        Requires no credentials.

        Args:
            token: Token of the emailed link; without it, the response is the form.
            return_to: The path to open after signing in; a path of another site is ignored.
        """
        return await self._client.send("auth_show_login", File, query={"token": token, "return_to": return_to})
