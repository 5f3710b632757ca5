"""What a resource is before an action and after it, as it is answered."""

from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.kit.http.fields import AliasProjectId, Labels
from builders.kit.process.secret_keys import Keyring
from builders.mail import service as mail
from builders.sandbox.views import AliasView, DomainView, ProjectView, View


class AliasViewReply(Reply):
    """An alias before or after an action."""

    address: Annotated[str, Field(description="The whole address, `local_part@domain`.")]
    key: Annotated[str, Field(description="`key` of the resource in the manifest.")]
    destinations: Annotated[
        list[str], Field(description="Recipients that mail is forwarded to; masked for a test key.")
    ]
    enabled: Annotated[bool, Field(description="Whether mail is forwarded.")]
    note: Annotated[str | None, Field(description="Your own note; null without one.")]
    labels: Labels
    project_id: AliasProjectId


class ProjectViewReply(Reply):
    """A project before or after an action."""

    key: Annotated[str, Field(description="`key` of the resource in the manifest.")]
    name: Annotated[str, Field(description="Name of the project.")]
    slug: Annotated[
        str | None, Field(description="Short name for URLs and manifests; null when it is derived from the name.")
    ]
    description: Annotated[str | None, Field(description="Text about the project; null without one.")]
    website: Annotated[str | None, Field(description="http or https address; null when not set.")]
    allowed_domains: Annotated[list[str], Field(description="Domains on which its names may be; empty: any.")]
    default_destination: Annotated[
        str | None, Field(description="Recipient of its names that have none of their own; null without one.")
    ]
    webhook_ids: Annotated[list[UUID], Field(description="Webhook destinations that belong to it.")]
    alias_limit: Annotated[int | None, Field(description="Most names that it may have; null: no limit.")]
    metadata: Annotated[dict[str, str], Field(description="Your own pairs of text.")]


class WebhookViewReply(Reply):
    """A webhook destination before or after an action, without its secret."""

    key: Annotated[str, Field(description="`key` of the resource in the manifest.")]
    label: Annotated[str, Field(description="Your name for the destination.")]
    url: Annotated[str, Field(description="Address that events are sent to.")]
    enabled: Annotated[bool, Field(description="Whether it gets events.")]
    events: Annotated[list[str], Field(description="Names of events, `area.*`, or `*` for all.")]


class DomainViewReply(Reply):
    """The settings of an account domain before or after an action."""

    key: Annotated[str, Field(description="`key` of the resource in the manifest.")]
    domain: Annotated[str, Field(description="Name of the domain, as a lower-case A-label.")]
    default_destination: Annotated[
        str | None, Field(description="Where mail without a destination of its own goes; null without one.")
    ]
    catch_all: Annotated[bool, Field(description="Whether all mail goes to `default_destination`.")]


ViewReply = AliasViewReply | ProjectViewReply | WebhookViewReply | DomainViewReply


class Mask:
    """Hides addresses, and shows whether two of them differ: by a hash under the account's own key.

    The form stays that of an address, with the hash in its local part: `o***#1f0c9a3e@example.net`.
    """

    def __init__(self, keyring: Keyring, account_id: UUID) -> None:
        self._keyring, self._account_id = keyring, account_id

    def mailbox(self, email: str) -> str:
        """Return the first letter, the hash and the domain."""
        local, _, domain = mail.mask(email).rpartition("@")
        return f"{local}#{self._hash(email)}@{domain}"

    def url(self, url: str) -> str:
        """Return scheme, host and the hash: the rest may be what lets one in."""
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname or ''}/***#{self._hash(url)}"

    def _hash(self, text: str) -> str:
        # The secret prevents guessing addresses; 32 bits distinguish the few of a plan.
        return self._keyring.hash_token("plan mask", f"{self._account_id} {text}").hex()[:8]


def view_reply(view: View | None, *, mask: Mask | None) -> ViewReply | None:
    """The answer; with a mask it shows no mailbox, and of a URL only whose it is."""
    if view is None:
        return None
    if isinstance(view, AliasView):
        alias = AliasViewReply.model_validate(view)
        alias.destinations = [_mailbox(each, mask) for each in view.destinations]
        return alias
    if isinstance(view, ProjectView):
        project = ProjectViewReply.model_validate(view)
        project.default_destination = view.default_destination and _mailbox(view.default_destination, mask)
        return project
    if isinstance(view, DomainView):
        domain = DomainViewReply.model_validate(view)
        domain.default_destination = view.default_destination and _mailbox(view.default_destination, mask)
        return domain
    webhook = WebhookViewReply.model_validate(view)
    webhook.url = view.url if mask is None else mask.url(view.url)
    return webhook


def _mailbox(email: str, mask: Mask | None) -> str:
    return email if mask is None else mask.mailbox(email)
