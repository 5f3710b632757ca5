# Written by script/clients.

from typing import Annotated, Any

from pydantic import AwareDatetime, Field

from builders_client.values import Amount, Model, Money


class AliasViewReply(Model):
    """An alias before or after an action."""

    destinations: list[str]
    """Recipients that mail is forwarded to; masked for a test key."""
    enabled: bool
    """Whether you want mail forwarded; a suspended name forwards none."""
    note: str | None
    """Your own note; null without one."""
    labels: dict[str, str]
    """Your own labels."""
    block: list[str]
    """All senders whose mail is refused: addresses, or domains with their subdomains."""
    pause_until: AwareDatetime | None
    """Mail is not accepted before this time; null or a past time: it is."""
    reply: bool
    """Whether destinations may answer mail with the name as the sender."""
    address: str
    """The whole address, `local_part@domain`."""
    key: str
    """`key` of the resource in the manifest."""
    project_id: str | None
    """Project that the alias belongs to; null without one."""


class ApprovalRequestReply(Model):
    """A plan that asks the deciders for a decision."""

    plan_id: str
    """The newest plan with the digest."""
    digest: str
    """The digest that decisions are bound to."""
    manifest: str
    """`metadata.name` of the manifest."""
    requested_at: AwareDatetime
    """When a decision was last asked for."""


class ApprovalRequestReplyListing(Model):
    """A short list that needs no pages."""

    items: list[ApprovalRequestReply]
    """All items."""


class CanReply(Model):
    """The operations that the caller can perform."""

    simulate: bool
    """Whether `POST /v1/sandbox/simulate` is allowed."""
    plan: bool
    """Whether `POST /v1/sandbox/plan` is allowed."""
    promote: bool
    """Whether `POST /v1/sandbox/promote` is allowed."""


class ClearedReply(Model):
    """The number of deleted resources."""

    aliases: int
    """Number of names."""
    projects: int
    """Number of projects."""
    domains: int
    """Number of account domains."""
    invoices: int
    """Number of invoices."""
    webhooks: int
    """Number of webhook destinations."""
    deliveries: int
    """Number of webhook deliveries."""


class ContentsReply(Model):
    """The contents of the sandbox account."""

    aliases: int
    """Number of names in the sandbox."""
    projects: int
    """Number of projects in the sandbox."""
    webhooks: int
    """Number of webhook destinations in the sandbox."""


class CountsReply(Model):
    """Numbers of open plans and promotions."""

    plans_open: int
    """Plans that can be promoted."""
    promotions_running: int
    """Running promotions."""


class DecisionReply(Model):
    """The decision of a person about plans with the digest."""

    id: str
    """Identifier of the decision."""
    decision: str
    """`approve` or `reject`. Known values: approve, reject."""
    comment: str | None
    """The person's reason; null without one."""
    account_id: str
    """Account of the person."""
    decided_at: AwareDatetime
    """When it was taken."""
    expires_at: AwareDatetime
    """Until when it counts."""
    ended_at: AwareDatetime | None
    """When it was withdrawn, replaced or used; null before."""
    used_by: str | None
    """The plan whose promotion started under it; null otherwise."""
    email: str
    """Masked address of the person."""


class DomainViewReply(Model):
    """The settings of an account domain before or after an action."""

    default_destination: str | None
    """Default recipient of mail to names without destinations, required with catch_all; null without one."""
    catch_all: bool
    """Whether all mail goes to `default_destination`; if so, names cannot be claimed."""
    key: str
    """`key` of the resource in the manifest."""
    domain: str
    """Domain name, as a lower-case A-label."""


class FindingReply(Model):
    """An error or a warning."""

    code: str
    """Stable name of the finding; more can be added."""
    address: str
    """Address of the resource in the manifest; empty when it concerns the whole manifest."""
    message: str
    """Text for people: the finding and the remedy."""
    until: AwareDatetime | None = None
    """For `period_not_refunded`: until when claiming the name again is free."""


class LimitsReply(Model):
    """Limits of sizes, times and rates."""

    max_resources: int
    """Maximum number of resources of one manifest."""
    manifest_bytes: int
    """Maximum size of a body with a manifest, in bytes."""
    plan_ttl_s: int
    """Lifetime of a plan in seconds."""
    checks: int
    """Maximum number of addresses in a simulation of type `check`."""
    plans_per_minute: int
    """Maximum number of plans of an account in a minute."""
    simulations_per_minute: int
    """Maximum number of simulations of an account in a minute."""
    simulated_deliveries_per_minute: int
    """Maximum number of simulated events with `deliver` in a minute."""


class ManifestSchemaReply(Model):
    """A JSON Schema (2020-12) of the body of `POST /v1/sandbox/plan`."""

    field_schema: Annotated[str, Field(alias="$schema")]
    """Version of JSON Schema."""
    field_id: Annotated[str, Field(alias="$id")]
    """Stable URL of the schema."""
    title: str
    """Name of the schema."""
    description: str
    """Purpose of the schema."""
    type: str
    """A manifest is a JSON object."""
    required: list[str]
    """Members that a manifest must have."""
    properties: dict[str, Any]
    """Schema of each member."""
    field_defs: Annotated[dict[str, Any], Field(alias="$defs")]
    """Referenced schemas."""
    additionalProperties: bool
    """False: unknown members are refused."""
    examples: list[Any]
    """Manifests that the schema accepts."""


class MatchReply(Model):
    """A destination of the sandbox account and its decision about the event."""

    webhook_id: str
    """The destination."""
    label: str
    """Your name for the destination."""
    would_deliver: bool
    """Whether it would receive the event."""
    skip_reason: str | None
    """`unsealable`: the service cannot decrypt its secret, which must be rotated. Known values: disabled, not_subscribed, unsealable."""


class NextActionReply(Model):
    """One of the next actions, with instructions."""

    action: str
    """The entry of `next_actions` that this explains. Known values: await_approval, resume, replan, confirm_destinations, pay_invoices."""
    message: str
    """Instructions for people."""
    emails: list[str]
    """Recipients who must confirm; the first 100."""
    invoice_ids: list[str]
    """Invoices to pay."""


class OpenPlanReply(Model):
    """A plan that can be promoted."""

    id: str
    """Identifier of the plan."""
    manifest: str
    """`metadata.name` of the manifest."""
    status: str
    """Always `ready`."""
    created_at: AwareDatetime
    """When it was created."""
    expires_at: AwareDatetime
    """Until when the plan can be promoted."""


class PlanItemReply(Model):
    """A plan in a list, without its actions."""

    id: str
    """Identifier of the plan; send it as `plan_id` to promote."""
    status: str
    """Only `ready` and `empty` plans can be promoted. Known values: ready, empty, blocked, promoting, promoted, partial, expired."""
    manifest: str
    """`metadata.name` of the manifest."""
    labels: dict[str, str]
    """Your own labels, as the manifest gives them."""
    digest: str
    """Hash over account, manifest and actions; send it to promote exactly this plan."""
    summary: dict[str, int]
    """Number of actions by type of action."""
    promotable: bool
    """Whether status and age of the plan allow a promotion; it may need an approval."""
    created_by: str
    """The id of an API key; otherwise `user` and the id of a session, or `support` and a name."""
    created_at: AwareDatetime
    """When it was created."""
    expires_at: AwareDatetime
    """Until when the plan can be promoted."""
    errors: int
    """Number of findings."""
    warnings: int
    """Number of findings."""


class PlanItemReplyPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[PlanItemReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class PreconditionReply(Model):
    """The state that the promotion requires."""

    version: int
    """Version of the resource at the time of the plan; with another version, the plan is stale."""


class ProjectViewReply(Model):
    """A project before or after an action."""

    name: str
    """Name of the project."""
    slug: str | None
    """Unique among the account's active projects, for URLs and manifests; by default derived from the name."""
    description: str | None
    """Text about the project; null when not set."""
    website: str | None
    """An http or https address; null when not set."""
    allowed_domains: list[str]
    """Domains allowed for its aliases, as A-labels; Unicode is accepted. Empty: any."""
    default_destination: str | None
    """Default recipient of its aliases, masked in events; null when not set."""
    webhook_ids: list[str]
    """Webhook destinations of the project."""
    alias_limit: int | None
    """Maximum number of its aliases; null: no limit."""
    metadata: dict[str, str]
    """Your own key-value pairs."""
    key: str
    """`key` of the resource in the manifest."""


class RefusalReply(Model):
    """The refusal that the promotion would receive."""

    status: int
    """Status code of the response."""
    code: str
    """Code of the error: `approval_required`."""
    detail: str
    """The reason, as text."""


class RenderedReply(Model):
    """The request that the destination would receive now, without the headers of the connection."""

    webhook_id: str
    """The destination."""
    method: str
    """Method of the request."""
    url: str
    """URL of the request."""
    headers: dict[str, str]
    """Headers with the signature over `body`."""
    body: str
    """The body as UTF-8 text."""


class ResetReply(Model):
    """The result of a reset of the sandbox account."""

    simulated: bool | None = None
    """Always true: a simulation changes nothing live."""
    livemode: bool | None = None
    """Always false: a simulation uses the sandbox account."""
    type: str | None = None
    """Type of the simulation."""
    cleared: ClearedReply
    """Number of resources that were deleted."""


class RuleReply(Model):
    """A rule of the policy that requires the approval."""

    rule: str
    """Name of the rule. Known values: always, amount_over, deletes, kinds, projects, outward."""
    message: str
    """The reason, as text."""


class SimulatedApprovalReply(Model):
    """The approval of a rehearsed plan."""

    state: str
    """As `approval.state` of a plan. Known values: not_required, required, approved, rejected, expired."""
    approvals: int
    """Number of people who must approve; 0 without a simulated decision."""
    rules: list[RuleReply]
    """The rules that require the approval."""


class StepErrorReply(Model):
    """The error of a failed step or of an abandoned promotion."""

    code: str
    """Stable name of the failure, such as `taken`; more can be added."""
    message: str
    """Text for people: the failure and the remedy."""
    retryable: bool
    """Whether a resumed promotion can succeed."""


class StepReply(Model):
    """An action in execution."""

    address: str
    """Address of the resource in the manifest, such as `alias.ada`."""
    action: str
    """The action of the plan that the step executes. Known values: update, adopt, create, replace, delete, no_op."""
    status: str
    """Status of the step. Known values: pending, succeeded, failed, skipped."""
    attempts: int
    """Number of attempts."""
    resource_id: str | None
    """The created or changed resource; null before the execution."""
    error: StepErrorReply | None
    """Why it failed; null otherwise."""
    finished_at: AwareDatetime | None
    """When the step succeeded or failed; null before."""
    invoice_id: str | None
    """The invoice that charges the claim; null if the step is free."""
    signing_secret: str | None = None
    """The secret of a new webhook, in the first response only."""


class SupportedReply(Model):
    """Supported versions, kinds of resources, and events."""

    api_versions: list[str]
    """Values of `api_version` of a manifest."""
    kinds: list[str]
    """Kinds of resources of a manifest."""
    events: list[str]
    """Events that a promotion can cause."""


class WebhookViewReply(Model):
    """A webhook destination before or after an action, without its secret."""

    key: str
    """`key` of the resource in the manifest."""
    label: str
    """Your name for the destination."""
    url: str
    """Public http or https address that events are sent to."""
    enabled: bool
    """Whether it receives events."""
    events: list[str]
    """Names of events, `area.*`, or `*` for all."""


class WhyNotReply(Model):
    """The obstacles to each operation; empty if it is allowed."""

    simulate: list[str]
    """Obstacles to a simulation; empty when allowed. Known values: live_key_required, email_unverified, insufficient_scope, impersonation."""
    plan: list[str]
    """Obstacles to a plan; empty when allowed. Known values: live_key_required, email_unverified, insufficient_scope, impersonation."""
    promote: list[str]
    """Obstacles to a promotion; empty when allowed. Known values: live_key_required, email_unverified, insufficient_scope, impersonation."""


class ActionPriceReply(Model):
    """The price of a name."""

    amount: Amount
    """Exact decimal digits, as text."""
    currency: str
    """ISO 4217 code."""
    interval: str
    """Period that the amount pays for: a `month`, a `year`, or `once`. Known values: month, year, once."""


class ActionReply(Model):
    """An action of a plan."""

    address: str
    """Address of the resource in the manifest, such as `alias.ada`: kind and key."""
    kind: str
    """Kind of the resource. Known values: project, domain, webhook, alias."""
    action: str
    """The action; `no_op` if the resource matches the manifest. Known values: update, adopt, create, replace, delete, no_op."""
    before: AliasViewReply | ProjectViewReply | WebhookViewReply | DomainViewReply | dict[str, Any] | None
    """The current resource; null if it does not exist."""
    after: AliasViewReply | ProjectViewReply | WebhookViewReply | DomainViewReply | dict[str, Any] | None
    """The resource after the action; null if it is deleted."""
    after_unknown: list[str]
    """Members of `after` whose values are unknown until the execution."""
    changed_fields: list[str]
    """Members that differ between `before` and `after`."""
    reason: str
    """The reason of the action, as text."""
    risk: str
    """`high` if mail can stop or go to another recipient, `medium` for other visible changes. Known values: low, medium, high."""
    price: ActionPriceReply | None
    """The price of the name; null if the action is free."""
    requires: list[str]
    """Addresses of the actions that must succeed first."""
    signing_secret_from: str | None = None
    """Source of a new webhook's secret: `generate`, or the webhook whose secret is copied."""
    precondition: PreconditionReply | None
    """State that the promotion requires; null for a new resource."""


class ApprovalReply(Model):
    """The approval of a plan, by the policy of this moment."""

    state: str
    """Only a plan whose approval is `not_required` or `approved` is promoted. `expired`: ask again. Known values: not_required, required, approved, rejected, expired."""
    approvals: int
    """Number of people who must approve."""
    rules: list[RuleReply]
    """The rules that require the approval; empty if it is not required."""
    decisions: list[DecisionReply]
    """Decisions about plans with this digest, newest first."""
    review_url: str
    """Page on which a person decides after signing in; it holds no credential."""


class ConditionsReply(Model):
    """The conditions under which a plan requires an approval."""

    amount_over: list[Money] | None
    """Limit of the price in each currency; null without this rule."""
    deletes: bool
    """Whether deletions require an approval."""
    kinds: list[str]
    """Kinds of resources whose changes require an approval. Known values: project, domain, webhook, alias."""
    projects: list[str]
    """Projects whose changes require an approval."""
    outward: bool
    """Whether mail or events to somewhere new require an approval."""


class EventSimulatedReply(Model):
    """The recipients of the event and the exact requests."""

    simulated: bool | None = None
    """Always true: a simulation changes nothing live."""
    livemode: bool | None = None
    """Always false: a simulation uses the sandbox account."""
    type: str | None = None
    """Type of the simulation."""
    event: str
    """Name of the event."""
    event_id: str
    """`webhook-id` in each request, and `id` in the payload."""
    matched: list[MatchReply]
    """Each destination of the sandbox account, and whether it would receive the event."""
    rendered: list[RenderedReply]
    """The request to each destination that would receive the event."""
    delivery_ids: list[str]
    """Identifiers of the deliveries; empty without `deliver`."""


class InvoiceReply(Model):
    """An invoice for claimed names."""

    id: str
    """Identifier of the invoice."""
    number: str | None
    """Number of the invoice, once it is issued."""
    total: Money
    """Amount of the invoice, with tax."""


class PromotionReply(Model):
    """The execution of a plan."""

    id: str
    """Identifier of the promotion."""
    plan_id: str
    """The plan that is executed."""
    status: str
    """A job continues a `running` promotion, and an approval starts a `waiting` one: poll `GET /v1/sandbox/promotions/{promotion_id}` until it changes. Known values: waiting, running, succeeded, partial, failed."""
    on_error: str
    """Reaction of the promotion to a failed step. Known values: stop, continue."""
    steps: list[StepReply]
    """The actions of the plan and their results."""
    created_by: str
    """The id of an API key; otherwise `user` and the id of a session, or `support` and a name."""
    started_at: AwareDatetime
    """When the promotion started."""
    finished_at: AwareDatetime | None
    """When the promotion ended; null while it runs."""
    invoices: list[InvoiceReply]
    """Invoices for the claimed names; empty if they are free."""
    error: StepErrorReply | None
    """Why it was abandoned. `ending_failed`: the completion failed, although the steps may have succeeded."""
    next_actions: list[str]
    """Empty if the promotion has its full effect; more values can be added. Known values: await_approval, resume, replan, confirm_destinations, pay_invoices."""
    next_action_details: list[NextActionReply]
    """Instructions for each of `next_actions`."""
    summary: dict[str, int]
    """Number of steps by status."""


class ProposalReply(Model):
    """A policy that stops less than the one in force, until enough deciders confirm it."""

    require: str
    """The plans that need an approval: none, all, or those of `when`. Known values: never, always, when."""
    when: ConditionsReply | None
    """The conditions of `require` `when`; null otherwise."""
    approvals: int
    """Number of people who must approve."""
    own_plans: str
    """Whether the account itself counts as one of them. Known values: allow, refuse."""
    direct_writes: str
    """Whether keys and tokens change resources without a plan. Known values: allow, refuse."""
    direct_sends: str
    """Whether keys and connections send mail from names. Known values: allow, refuse."""
    description: list[str]
    """The policy as sentences."""
    id: str
    """Identifier of the proposal."""
    proposed_by: str
    """Account of the person who proposed it."""
    confirmed_by: list[str]
    """Accounts of the people who have confirmed it."""
    created_at: AwareDatetime
    """When it was created."""
    expires_at: AwareDatetime
    """Until when it can be confirmed."""


class RehearsedLineReply(Model):
    """An invoice line for a name."""

    description: str
    """Text of the line, such as `ada@harbour.example, 1 year`."""
    alias_id: str | None
    """The alias that is charged; null for other lines."""
    quantity: int
    """Number of units, usually 1."""
    unit_amount: Money
    """Price of one unit, before tax."""


class RehearsedStepReply(Model):
    """The result of one action."""

    address: str
    """Address of the resource in the manifest, such as `alias.ada`."""
    action: str
    """The action of the plan that the step executes. Known values: update, adopt, create, replace, delete, no_op."""
    status: str
    """Result of the step. Known values: succeeded, failed, skipped."""
    resource_id: str | None
    """The created or changed resource; null before the execution."""
    error: StepErrorReply | None
    """Why it failed; null otherwise."""


class SimulatedCheckReply(Model):
    """The availability of the name for the sandbox account."""

    address: str
    """The address in the request."""
    available: bool
    """Whether the sandbox account can claim the name."""
    reason: str
    """`ok`, or the reason as in `GET /v1/catalog/check`."""
    message: str
    """Text for people: the problem and the remedy; empty when available."""
    normalized: str | None
    """The address that would receive mail."""
    price: ActionPriceReply | None
    """The price of the name; null if it cannot be claimed."""


class StatusReply(Model):
    """Status of the sandbox for this caller."""

    mode: str
    """Mode of the key; `session` for a session. Known values: live, test, session."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""
    can: CanReply
    """Allowed operations of these credentials."""
    reasons: list[str]
    """The same as `why_not.promote`. Known values: live_key_required, email_unverified, insufficient_scope, impersonation."""
    why_not: WhyNotReply
    """Obstacles to each operation."""
    counts: CountsReply
    """Numbers of open plans and running promotions."""
    open_plans: list[OpenPlanReply]
    """The newest five open plans."""
    sandbox: ContentsReply
    """Contents of the sandbox account."""
    limits: LimitsReply
    """Sizes, times and rates that apply."""
    supported: SupportedReply
    """Supported contents of a manifest, and events of a promotion."""


class TotalReply(Model):
    """The total price of the plan in one currency."""

    currency: str
    """ISO 4217 code of the three amounts."""
    once: Money
    """Sum of one-time prices."""
    month: Money
    """Sum of monthly prices."""
    year: Money
    """Sum of yearly prices."""


class ApprovalPolicyReply(Model):
    """The approval policy in force."""

    require: str
    """The plans that need an approval: none, all, or those of `when`. Known values: never, always, when."""
    when: ConditionsReply | None
    """The conditions of `require` `when`; null otherwise."""
    approvals: int
    """Number of people who must approve."""
    own_plans: str
    """Whether the account itself counts as one of them. Known values: allow, refuse."""
    direct_writes: str
    """Whether keys and tokens change resources without a plan. Known values: allow, refuse."""
    direct_sends: str
    """Whether keys and connections send mail from names. Known values: allow, refuse."""
    description: list[str]
    """The policy as sentences."""
    proposal: ProposalReply | None
    """The proposed policy that is not confirmed; null without one."""


class ChecksSimulatedReply(Model):
    """The results in the sequence of the request."""

    simulated: bool | None = None
    """Always true: a simulation changes nothing live."""
    livemode: bool | None = None
    """Always false: a simulation uses the sandbox account."""
    type: str | None = None
    """Type of the simulation."""
    results: list[SimulatedCheckReply]
    """Result for each address, in the sequence of the request."""


class PlanReply(Model):
    """A reviewable plan. Promote it with its id and digest."""

    id: str
    """Identifier of the plan; send it as `plan_id` to promote."""
    status: str
    """Only `ready` and `empty` plans can be promoted. Known values: ready, empty, blocked, promoting, promoted, partial, expired."""
    manifest: str
    """`metadata.name` of the manifest."""
    labels: dict[str, str]
    """Your own labels, as the manifest gives them."""
    digest: str
    """Hash over account, manifest and actions; send it to promote exactly this plan."""
    summary: dict[str, int]
    """Number of actions by type of action."""
    promotable: bool
    """Whether status and age of the plan allow a promotion; it may need an approval."""
    created_by: str
    """The id of an API key; otherwise `user` and the id of a session, or `support` and a name."""
    created_at: AwareDatetime
    """When it was created."""
    expires_at: AwareDatetime
    """Until when the plan can be promoted."""
    format_version: str
    """Version of the format of a plan."""
    actions: list[ActionReply]
    """The actions in the sequence of execution."""
    totals: list[TotalReply]
    """The total price, one entry for each currency; empty if the plan is free."""
    errors: list[FindingReply]
    """Obstacles to a promotion; empty when `promotable`."""
    warnings: list[FindingReply]
    """Warnings to review before the promotion."""
    confirm_deletes: int
    """Number of deletions that a promotion must confirm."""
    approval: ApprovalReply
    """Whether a person must approve the plan, and who has."""


class RehearsedInvoiceReply(Model):
    """The invoice in one currency."""

    id: str | None
    """Identifier of the invoice; null unless `persisted`."""
    number: str | None
    """Number of the invoice; null unless `persisted`."""
    currency: str
    """ISO 4217 code of all amounts."""
    lines: list[RehearsedLineReply]
    """Lines of the invoice."""
    subtotal: Money
    """Sum of the lines, before tax."""
    tax_total: Money
    """Sum of the tax of the lines."""
    total: Money
    """Subtotal and tax."""
    credit_applied: Money
    """Amount that the account's credit pays."""
    amount_due: Money
    """Amount to pay."""


class RehearsedPlanReply(Model):
    """The plan of a rehearsal; it is not stored and cannot be promoted."""

    status: str
    """Status of the plan. Known values: ready, empty, blocked, promoting, promoted, partial, expired."""
    manifest: str
    """`metadata.name` of the manifest."""
    labels: dict[str, str]
    """Your own labels, as the manifest gives them."""
    actions: list[ActionReply]
    """The actions in the sequence of execution."""
    summary: dict[str, int]
    """Number of actions by type of action."""
    totals: list[TotalReply]
    """The total price, one entry for each currency."""
    errors: list[FindingReply]
    """Obstacles to a promotion."""
    warnings: list[FindingReply]
    """Warnings to review before a promotion."""
    confirm_deletes: int
    """Number of deletions that a promotion of the plan must confirm."""
    approval: SimulatedApprovalReply
    """The approval by the simulated decision."""


class RehearsedPromotionReply(Model):
    """The result of a rehearsed promotion."""

    status: str
    """Status of the promotion at its end. Known values: waiting, running, succeeded, partial, failed."""
    on_error: str
    """Reaction of the promotion to a failed step. Known values: stop, continue."""
    steps: list[RehearsedStepReply]
    """The actions of the plan and their results."""
    summary: dict[str, int]
    """Number of steps by status."""


class ManifestSimulatedReply(Model):
    """The result of a rehearsal in the sandbox account."""

    simulated: bool | None = None
    """Always true: a simulation changes nothing live."""
    livemode: bool | None = None
    """Always false: a simulation uses the sandbox account."""
    type: str | None = None
    """Type of the simulation."""
    persisted: bool
    """Whether the changes are stored in the sandbox account."""
    plan: RehearsedPlanReply
    """The plan from the state of the sandbox account."""
    promotion: RehearsedPromotionReply | None
    """Null for a plan with errors or without approval: it is not executed."""
    refusal: RefusalReply | None
    """Why the plan is not promoted, with a simulated decision; null otherwise."""
    invoices: list[RehearsedInvoiceReply]
    """An invoice for each currency; empty if the plan is free."""
