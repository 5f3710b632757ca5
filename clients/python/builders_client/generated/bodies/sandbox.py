# Written by script/clients.
"""What callers send: sandbox."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from builders_client.values import MoneyLike, TimeLike


class ApprovalConditions(TypedDict):
    """The conditions under which a plan requires an approval; one of them is enough."""

    amount_over: NotRequired[Sequence[MoneyLike] | None]
    """The plan costs more at once than this, with what was promoted without an approval in the last 24 hours; one
    entry for each currency. A price in another currency requires an approval.
    """
    deletes: NotRequired[bool]
    """The plan deletes or replaces resources."""
    kinds: NotRequired[Sequence[Literal["project", "domain", "webhook", "alias"]]]
    """The plan changes resources of one of these kinds."""
    projects: NotRequired[Sequence[str]]
    """The plan changes one of these projects, or names of it."""
    outward: NotRequired[bool]
    """The plan sends mail or events somewhere new: to a destination that the account never confirmed, by a new
    catch-all, or to a host of none of its enabled webhooks.
    """


class ManifestAlias(TypedDict):
    """A desired alias: send either `address`, or both `local_part` and `domain`."""

    address: NotRequired[str | None]
    """The whole address, such as `ada@harbour.example`; instead of `local_part` and `domain`."""
    local_part: NotRequired[str | None]
    """The part before the `@`; with `domain`."""
    domain: NotRequired[str | None]
    """Domain of the name, in Unicode or as an A-label; with `local_part`."""
    destinations: NotRequired[Sequence[str] | None]
    """Absent: the default_destination of its project."""
    key: str
    """Unique in the manifest."""
    enabled: NotRequired[bool]
    """Whether you want mail forwarded; a suspended name forwards none."""
    note: NotRequired[str | None]
    """Your own note; null without one."""
    labels: NotRequired[Mapping[str, str]]
    """Your own labels."""
    block: NotRequired[Sequence[str]]
    """All senders whose mail is refused: addresses, or domains with their subdomains."""
    pause_until: NotRequired[TimeLike | None]
    """Mail is not accepted before this time; null or a past time: it is."""
    reply: NotRequired[bool]
    """Whether destinations may answer mail with the name as the sender."""
    project: NotRequired[str | None]
    """Project of the alias; absent: the `project` of the manifest."""


class ManifestDomain(TypedDict):
    """Settings of a domain of the account; a manifest cannot add or delete domains."""

    domain: str
    """Name of the domain, in Unicode or as an A-label."""
    default_destination: NotRequired[str | None]
    """Default recipient of mail to names without destinations."""
    key: str
    """Unique in the manifest."""
    catch_all: NotRequired[bool]
    """Whether all mail goes to `default_destination`; if so, names cannot be claimed."""


class ManifestMetadata(TypedDict):
    """The identity of a manifest: it manages the resources created or adopted under its name."""

    name: str
    """Name of the manifest: it manages the resources created or adopted under this name."""
    labels: NotRequired[Mapping[str, str]]
    """Your own pairs of text, kept with the plan."""


class ManifestProject(TypedDict):
    """A desired project; absent members are cleared, except the slug, which stays or is derived from the name."""

    default_destination: NotRequired[str | None]
    """Recipient for its aliases without destinations."""
    key: str
    """Unique in the manifest."""
    name: str
    """Name of the project."""
    slug: NotRequired[str | None]
    """Unique among the account's active projects, for URLs and manifests; by default derived from the name."""
    description: NotRequired[str | None]
    """Text about the project; null when not set."""
    website: NotRequired[str | None]
    """An http or https address; null when not set."""
    alias_limit: NotRequired[int | None]
    """Maximum number of its aliases; null: no limit."""
    allowed_domains: NotRequired[Sequence[str]]
    """Domains allowed for its aliases, as A-labels; Unicode is accepted. Empty: any."""
    webhook_ids: NotRequired[Sequence[str]]
    """Webhook destinations of the project."""
    metadata: NotRequired[Mapping[str, str]]
    """Your own key-value pairs."""


class ManifestWebhook(TypedDict):
    """A desired webhook destination, without its secret."""

    signing_secret_ref: NotRequired[str]
    """`generate`: a new secret, which the promotion shows once. Otherwise the webhook whose secret is copied: the
    key of a webhook in this manifest, or the label of an existing one. It has no effect on an existing webhook.
    """
    key: str
    """Unique in the manifest."""
    label: str
    """Your name for the destination."""
    url: str
    """Public http or https address that events are sent to."""
    events: Sequence[str]
    """Names of events, `area.*`, or `*` for all."""
    enabled: NotRequired[bool]
    """Whether it receives events."""


class SandboxDecision(TypedDict):
    """The decision of a person about a plan."""

    decision: Literal["approve", "reject"]
    """`approve`, or `reject`: one rejection blocks the plan."""
    digest: str
    """The digest of the reviewed plan."""
    comment: NotRequired[str | None]
    """Your reason, for the other people."""


class SandboxPersonPromotion(TypedDict):
    """Consent of a person to a reviewed plan."""

    digest: str
    """The digest of the reviewed plan."""
    confirm_deletes: NotRequired[int | None]
    """Number of resources of all kinds that the plan deletes or replaces."""
    max_total: NotRequired[MoneyLike | None]
    """Maximum amount that may be due now; otherwise the request is refused."""
    on_error: NotRequired[Literal["stop", "continue"]]
    """Reaction to a failed step: `stop` skips the remaining steps, `continue` executes them."""
    resume: NotRequired[bool]
    """Try the failed and skipped steps of a promotion again."""


class SandboxPromoteRequest(TypedDict):
    """Consent to a reviewed plan."""

    digest: str
    """The digest of the reviewed plan."""
    confirm_deletes: NotRequired[int | None]
    """Number of resources of all kinds that the plan deletes or replaces."""
    max_total: NotRequired[MoneyLike | None]
    """Maximum amount that may be due now; otherwise the request is refused."""
    on_error: NotRequired[Literal["stop", "continue"]]
    """Reaction to a failed step: `stop` skips the remaining steps, `continue` executes them."""
    resume: NotRequired[bool]
    """Try the failed and skipped steps of a promotion again."""
    plan_id: str
    """The plan to execute."""
    when_approved: NotRequired[bool]
    """Wait for a required approval, and start with it while the key is valid and the plan has not expired."""


class SimulateCheck(TypedDict):
    """Check of names for the sandbox account."""

    type: Literal["check"]
    """Check whether the sandbox account can claim names."""
    addresses: Sequence[str]
    """Names to check, such as `ada@harbour.example`."""


class SimulateEvent(TypedDict):
    """Simulation of an event of the sandbox account."""

    type: Literal["event"]
    """Simulate an event: its recipients and the exact requests."""
    event: str
    """Name of the event, as in the events of a destination."""
    overrides: NotRequired[Mapping[str, Any]]
    """A merge patch of the event's example, ids included; validated by the event's data schema."""
    webhook_id: NotRequired[str | None]
    """One destination of the sandbox account; absent: all of them."""
    deliver: NotRequired[bool]
    """Deliver it to the matched destinations."""
    seed: NotRequired[str | None]
    """Seed of a reproducible payload, id and time included."""


class SimulateReset(TypedDict):
    """Reset of the sandbox account."""

    type: Literal["reset"]
    """Delete everything in the sandbox account."""


class SandboxApprovalPolicy(TypedDict):
    """The approval policy: which plans a person must approve before their promotion."""

    require: Literal["never", "always", "when"]
    """The plans that require an approval; `when`: those of the conditions."""
    when: NotRequired[ApprovalConditions | None]
    """The conditions of `require` `when`; otherwise absent."""
    approvals: NotRequired[int]
    """Number of people who must approve."""
    own_plans: NotRequired[Literal["allow", "refuse"] | None]
    """Whether the account itself counts as one of them. A plan that any key or session of it made is its own.
    Absent: `allow` with one decider, else `refuse`.
    """
    direct_writes: NotRequired[Literal["allow", "refuse"]]
    """`refuse`: keys and tokens change names, domains, webhooks and projects by plans only; a direct change is 403
    `approval_required`.
    """
    direct_sends: NotRequired[Literal["allow", "refuse"]]
    """`refuse`: keys and connections send no mail from names; an answer is 403 `sending_refused`."""
    deciders: NotRequired[Sequence[str] | None]
    """Members of the team who keep the permission `approve_plans`; the others lose it. Required with the first
    policy other than `never` if there are such members.
    """
    connections: NotRequired[Sequence[str]]
    """Connections that the first policy other than `never` keeps; it ends the others."""


class ManifestResources(TypedDict):
    """The desired resources; keys are unique in each list."""

    projects: NotRequired[Sequence[ManifestProject]]
    """Desired projects."""
    domains: NotRequired[Sequence[ManifestDomain]]
    """Desired settings of the account's domains."""
    webhooks: NotRequired[Sequence[ManifestWebhook]]
    """Desired webhook destinations."""
    aliases: NotRequired[Sequence[ManifestAlias]]
    """Desired aliases."""


class SandboxManifest(TypedDict):
    """The desired state. Unknown members are refused, since a typo would change the plan."""

    api_version: Literal["v1"]
    """Version of the format of a manifest."""
    kind: Literal["Manifest"]
    """Always `Manifest`."""
    metadata: ManifestMetadata
    """Name and labels of the manifest."""
    project: NotRequired[str | None]
    """Default project of the aliases."""
    prune: NotRequired[bool]
    """Delete resources that this manifest created or adopted and no longer contains."""
    on_conflict: NotRequired[Literal["fail", "adopt"]]
    """Treatment of existing resources that this manifest does not manage."""
    resources: ManifestResources
    """The desired resources, 2,000 of all kinds at most."""


class SimulateManifest(TypedDict):
    """Rehearsal of a manifest: plan and promotion in the sandbox account, in one request."""

    type: Literal["manifest"]
    """Rehearse a manifest on the sandbox account: plan, promotion and invoices."""
    manifest: SandboxManifest
    """The manifest, as for `POST /v1/sandbox/plan`."""
    fail_at: NotRequired[Mapping[str, str]]
    """Error codes of failures to inject, by the address of the action."""
    on_error: NotRequired[Literal["stop", "continue"]]
    """Reaction to a failed step: `stop` skips the remaining steps, `continue` executes them."""
    persist: NotRequired[bool]
    """Store the changes in the sandbox account and publish their events."""
    decision: NotRequired[Literal["none", "approve", "reject", "expire"] | None]
    """Simulate that the plan requires an approval, and this decision about it; `expire` is an approval that has
    expired. It counts for no promotion. Absent: no approval is required.
    """


SandboxSimulateRequest = SimulateEvent | SimulateManifest | SimulateCheck | SimulateReset
