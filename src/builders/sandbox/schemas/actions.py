"""Replies: the actions and findings of a plan, and a resource before and after an action."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.kit.http.fields import AliasProjectId, Interval, Labels
from builders.kit.process.secret_keys import Keyring
from builders.kit.values.money import Money
from builders.mail import addresses
from builders.sandbox.manifest import GENERATE, AliasView, DomainView, ProjectView, View, WebhookView
from builders.sandbox.records import Action, ActionKind, Kind, Secret


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
    allowed_domains: Annotated[list[str], Field(description="Domains allowed for its names; empty: any.")]
    default_destination: Annotated[
        str | None,
        Field(description="Default recipient of mail to names without destinations; null if there is none."),
    ]
    webhook_ids: Annotated[list[UUID], Field(description="Webhook destinations of the project.")]
    alias_limit: Annotated[int | None, Field(description="Maximum number of its names; null: no limit.")]
    metadata: Annotated[dict[str, str], Field(description="Your own pairs of text.")]


class WebhookViewReply(Reply):
    """A webhook destination before or after an action, without its secret."""

    key: Annotated[str, Field(description="`key` of the resource in the manifest.")]
    label: Annotated[str, Field(description="Your name for the destination.")]
    url: Annotated[str, Field(description="Address that events are sent to.")]
    enabled: Annotated[bool, Field(description="Whether it receives events.")]
    events: Annotated[list[str], Field(description="Names of events, `area.*`, or `*` for all.")]


class DomainViewReply(Reply):
    """The settings of an account domain before or after an action."""

    key: Annotated[str, Field(description="`key` of the resource in the manifest.")]
    domain: Annotated[str, Field(description="Name of the domain, as a lower-case A-label.")]
    default_destination: Annotated[
        str | None,
        Field(description="Default recipient of mail to names without destinations; null if there is none."),
    ]
    catch_all: Annotated[bool, Field(description="Whether all mail goes to `default_destination`.")]


ViewReply = AliasViewReply | ProjectViewReply | WebhookViewReply | DomainViewReply


class Mask:
    """A mask of addresses with a keyed hash for each account, which shows whether two of them differ.

    The result has the form of an address, with the hash in its local part: `o***#1f0c9a3e@example.net`.
    """

    def __init__(self, keyring: Keyring, account_id: UUID) -> None:
        self._keyring, self._account_id = keyring, account_id

    def mailbox(self, email: str) -> str:
        """Return the first letter, the hash and the domain."""
        local, _, domain = addresses.mask(email).rpartition("@")
        return f"{local}#{self._hash(email)}@{domain}"

    def url(self, url: str) -> str:
        """Return scheme, host and hash; the path can contain a secret."""
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname or ''}/***#{self._hash(url)}"

    def _hash(self, text: str) -> str:
        # The secret prevents guessing addresses; 32 bits distinguish the few of a plan.
        return self._keyring.hash_token("plan mask", f"{self._account_id} {text}").hex()[:8]


_REPLIES: Mapping[type[View], type[ViewReply]] = {
    AliasView: AliasViewReply,
    ProjectView: ProjectViewReply,
    WebhookView: WebhookViewReply,
    DomainView: DomainViewReply,
}


def view_reply(view: View | None, *, mask: Mask | None) -> ViewReply | None:
    """Return the reply; a mask hides mailboxes, and all of a URL but its host."""
    if view is None:
        return None
    reply = _REPLIES[type(view)].model_validate(view)
    if mask is None:
        return reply
    if isinstance(reply, AliasViewReply):
        reply.destinations = [mask.mailbox(each) for each in reply.destinations]
    elif isinstance(reply, WebhookViewReply):
        reply.url = mask.url(reply.url)
    elif reply.default_destination is not None:
        reply.default_destination = mask.mailbox(reply.default_destination)
    return reply


class ActionPriceReply(Reply):
    """The price of a name."""

    amount: Annotated[str, Field(description="Exact decimal digits, such as `12.00`.")]
    currency: Annotated[str, Field(description="ISO 4217 code.")]
    interval: Annotated[Literal["month", "year", "once"], Field(description=Interval)]


class PreconditionReply(Reply):
    """The state that the promotion requires."""

    version: Annotated[
        int,
        Field(
            description="Version of the resource at the time of the plan; with another version, the plan is stale."
        ),
    ]


class ActionReply(Reply):
    """An action of a plan."""

    address: Annotated[
        str, Field(description="Address of the resource in the manifest, such as `alias.ada`: kind and key.")
    ]
    kind: Annotated[Kind, Field(description="Kind of the resource.")]
    action: Annotated[ActionKind, Field(description="The action; `no_op` if the resource matches the manifest.")]
    before: Annotated[ViewReply | None, Field(description="The current resource; null if it does not exist.")]
    after: Annotated[ViewReply | None, Field(description="The resource after the action; null if it is deleted.")]
    after_unknown: Annotated[
        list[str], Field(description="Members of `after` whose values are unknown until the execution.")
    ]
    changed_fields: Annotated[list[str], Field(description="Members that differ between `before` and `after`.")]
    reason: Annotated[str, Field(description="The reason of the action, as text.")]
    risk: Annotated[
        Literal["low", "medium", "high"],
        Field(
            description="`high` if mail can stop or go to another recipient, `medium` for other visible changes."
        ),
    ]
    price: Annotated[
        ActionPriceReply | None, Field(description="The price of the name; null if the action is free.")
    ]
    requires: Annotated[list[str], Field(description="Addresses of the actions that must succeed first.")]
    signing_secret_from: Annotated[
        str | None,
        Field(description="Source of a new webhook's secret: `generate`, or the webhook whose secret is copied."),
    ] = None
    precondition: Annotated[
        PreconditionReply | None, Field(description="State that the promotion requires; null for a new resource.")
    ]


class FindingReply(Reply):
    """An error or a warning."""

    code: Annotated[str, Field(description="Stable name of the finding; more can be added.")]
    address: Annotated[
        str,
        Field(description="Address of the resource in the manifest; empty when it concerns the whole manifest."),
    ]
    message: Annotated[str, Field(description="Text for people: the finding and the remedy.")]
    until: Annotated[
        datetime | None,
        Field(
            description="For `period_not_refunded`: until when claiming the name again is free.",
            exclude_if=lambda until: until is None,
        ),
    ] = None


class TotalReply(Reply):
    """The total price of the plan in one currency."""

    currency: Annotated[str, Field(description="ISO 4217 code of the three amounts.")]
    once: Annotated[Money, Field(description="Sum of one-time prices.")]
    month: Annotated[Money, Field(description="Sum of monthly prices.")]
    year: Annotated[Money, Field(description="Sum of yearly prices.")]


def action_reply(action: Action, *, mask: Mask | None) -> ActionReply:
    """Return the reply of an action; a mask hides its mailboxes and URLs."""
    price = action.price
    return ActionReply.from_record(
        action,
        before=view_reply(action.before, mask=mask),
        after=view_reply(action.after, mask=mask),
        risk=action.risk.value,
        price=price and ActionPriceReply(**price.money.to_wire(), interval=price.interval.value),
        signing_secret_from=_secret(action.secret),
        precondition=None if action.version is None else PreconditionReply(version=action.version),
    )


def _secret(secret: Secret | None) -> str | None:
    if secret is None:
        return None
    source = secret.copied_from_address or secret.copied_from
    return GENERATE if source is None else str(source)
