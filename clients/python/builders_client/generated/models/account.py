# Written by script/clients.

from pydantic import AwareDatetime

from builders_client.values import Model, Money

from .shared import ActorReply, UnknownField


class AccountErasureReply(Model):
    """The erasure of the account."""

    state: str
    """How far it is. Known values: none, unconfirmed, waiting."""
    requested_at: AwareDatetime | None
    """When it was requested."""
    due_at: AwareDatetime | None
    """When it happens."""
    missing: int
    """Deciders who still have to confirm it."""
    unsettled: list[str]
    """What is settled before."""


class AccountExportReply(Model):
    """An export of what credentials read."""

    id: str
    """Identifier."""
    state: str
    """How far it is. Known values: asked, running, ready, failed."""
    code: str | None
    """Why it failed: `export_too_large`, or `credentials_invalid` if the credentials ended; else null."""
    parts: list[str]
    """The lists and tables that it holds until now."""
    left_out: dict[str, str]
    """What it lacks, each with the reason: `never` in an export, `computed` from others, `single` if read one by one, `hash`, `credential`, or the code of a refusal."""
    size: int
    """Bytes of the content that are written."""
    created_at: AwareDatetime
    """When it was requested."""
    expires_at: AwareDatetime
    """Until when it can be collected."""


class AccountExportReplyListing(Model):
    """A short list that needs no pages."""

    items: list[AccountExportReply]
    """All items."""


class AuditEntryReply(Model):
    """An entry of the audit list."""

    id: str
    """Identifier of the entry."""
    at: AwareDatetime
    """When it happened."""
    action: str
    """The action. More values can be added. Known values: api_key.minted, api_key.rotated, api_key.revoked, api_key.enabled, api_key.narrowed, reception.set, reception.ended, mail.answered, mail.opened, export.requested, machines.limited, api_key.refused, account.suspended, account.restored, erasure.confirmed, erasure.cancelled, session.opened, session.ended, identity.linked, identity.unlinked, login_as.granted, login_as.redeemed, login_as.revoked, support.acted, plan.promoted, plan.approved, plan.rejected, plan.approval_withdrawn, approval_policy.proposed, approval_policy.confirmed, approval_policy.discarded, approval_policy.changed, email.change_requested, email.changed, email.verified, profile.changed, team.role_changed, team.member_invited, team.member_removed, device.approved, device.denied, connection.approved, connection.denied, decision.refused, decider.added, decider.removed, decider.confirmed, auth_code.requested, domain.history_deleted, registrar.credential_changed."""
    actor: ActorReply
    """The person, key or employee that performed the action."""
    request_id: str | None
    """Identifier of the request; null for actions at the command line."""
    about: dict[str, str | int | bool | None]
    """Details; the members depend on the action. Never a secret."""


class AuditEntryReplyPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[AuditEntryReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class DeciderReply(Model):
    """A person who decides about plans of the account."""

    account_id: str
    """The person's account."""
    email: str
    """The address that signs the person in."""
    name: str
    """Name of the account."""
    since: AwareDatetime
    """When the person became a decider."""
    email_since: AwareDatetime
    """When the account got the address."""
    confirmed_at: AwareDatetime | None
    """When another decider confirmed the person; null: never."""
    decides_from: AwareDatetime
    """Earliest time of a decision: 24 hours after a change, or its confirmation."""


class DeciderReplyListing(Model):
    """A short list that needs no pages."""

    items: list[DeciderReply]
    """All items."""


class DeciderConfirmed(Model):
    """A person who decides about plans of the account."""

    account_id: str
    """The person's account."""
    email: str
    """The address that signs the person in."""
    name: str
    """Name of the account."""
    since: AwareDatetime
    """When the person became a decider."""
    email_since: AwareDatetime
    """When the account got the address."""
    confirmed_at: AwareDatetime | None
    """When another decider confirmed the person; null: never."""
    decides_from: AwareDatetime
    """Earliest time of a decision: 24 hours after a change, or its confirmation."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""


class MachinesReply(Model):
    """What all machines with a mandate may cost together, and have cost."""

    max_total_per_30_days: list[Money] | None
    """What they may cost in 30 days; a currency without an amount is zero. Null: no limit."""
    spent: list[Money]
    """What they have cost in the last 30 days."""
