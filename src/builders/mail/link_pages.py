"""Emailed links that confirm an address: the page with a button, and the reply for programs.

Mail scanners open links in complete browsers, or ask for any type, and must not confirm for the recipient.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, Literal, TypeVar

from fastapi import Request, Response

from builders.kit.db.connections import Database
from builders.kit.errors import Problem, TokenInvalid
from builders.kit.http import html
from builders.kit.http.bodies import Reply, ReplyWithHeaders
from builders.kit.http.visitors import PrefetchRefused, refuse_prefetch
from builders.kit.process.secret_keys import Keyring
from builders.kit.values.docs import doc

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The result of following a link."""

    email: str  # masked
    repeated: bool

    @property
    def status(self) -> str:
        """Return the result by name."""
        return "already_confirmed" if self.repeated else "confirmed"


class ConfirmedReply(Reply):
    """The result of following a link."""

    status: Annotated[
        Literal["confirmed", "already_confirmed"], doc("`already_confirmed` when the link was used before.")
    ]
    email: Annotated[str, doc("The address, masked: `a***@example.net`.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPages(Generic[T]):
    """The pages of one kind of link. `find` and `confirm` get a connection, the keyring and the token."""

    action: str  # the path of the form
    find: Callable[..., Awaitable[T | None]]  # what a link confirms; None: it is used or not valid
    question: Callable[[T], tuple[str, Sequence[str], str]]  # title, paragraphs, label of the button
    confirm: Callable[..., Awaitable[Confirmation]]
    reply: Callable[[Confirmation], Reply]
    hint: str  # after a refusal
    refusals: tuple[type[Problem], ...] = (TokenInvalid, PrefetchRefused)
    links: Sequence[html.Link] = ()

    async def show(
        self, request: Request, database: Database, keyring: Keyring, token: str, **about: object
    ) -> ReplyWithHeaders | Response:
        """Return the page with the button; confirm at once for a program that asks for JSON.

        `confirm` also gets `about`.
        """
        as_json = html.asks_for_json(request)
        try:
            refuse_prefetch(request)
            found = None
            if not as_json:
                async with database.connection() as conn:
                    found = await self.find(conn, keyring=keyring, token=token)
        except self.refusals as refusal:
            return self._refuse(request, refusal)
        if found is None:
            return await self.press(request, database, keyring, token, as_json=as_json, **about)
        title, paragraphs, label = self.question(found)
        return html.page(
            title, paragraphs, button=html.Form(action=self.action, label=label, fields={"token": token})
        )

    async def press(
        self,
        request: Request,
        database: Database,
        keyring: Keyring,
        token: str,
        *,
        as_json: bool = False,
        **about: object,
    ) -> ReplyWithHeaders | Response:
        """Confirm, by the button of the page or for a program."""
        try:
            async with database.transaction() as conn:
                done = await self.confirm(conn, keyring=keyring, token=token, **about)
        except self.refusals as refusal:
            return self._refuse(request, refusal)
        if as_json:
            return ReplyWithHeaders(self.reply(done), html.NEGOTIATED)
        state = "was confirmed before" if done.repeated else "is confirmed"
        text = f"The address {done.email} {state}. You can close this page."
        return html.page("Thank you", [text], links=self.links)

    def _refuse(self, request: Request, refusal: Problem) -> Response:
        return html.refusal_page(request, refusal, "The address could not be confirmed", self.hint)
