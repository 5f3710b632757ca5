# Written by script/clients.

from builders_client.values import Model, Money


class ActorReply(Model):
    """The actor of an action."""

    type: str
    """An API key, a person who signed in, the vendor's support signed in as the account, the operator at the command line, or a connected client. Known values: key, user, support, operator, agent."""
    id: str | None
    """Identifier of the key, the connection, the session or the login-as grant."""
    label: str | None
    """Name or address of support or the operator; name of the client."""


class UnknownField(Model):
    """A member of the body that was ignored because it is unknown, or another warning."""

    field: str
    """Path of the member in the body, such as `metadata.lables`."""
    code: str | None = None
    """`unknown_field`, `amount_as_number`, or a code of the operation."""
    did_you_mean: str | None
    """The known member with the closest name; null when none is close."""
    message: str
    """The warning as a sentence."""


class Mandate(Model):
    """What a credential may do and spend, given by a person. Its end and its label are those of the key."""

    toolsets: list[str]
    """What it may use; see the scopes. Known values: names, plans, mail, money, portfolio, api."""
    read_only: bool | None = None
    """Whether it only reads, plans, simulates and previews."""
    projects: list[str] | None = None
    """The only projects that it changes, with their names; null: anything."""
    max_total_per_plan: list[Money] | None = None
    """What a plan may cost, an amount of each currency; a currency without one is zero."""
    max_total_per_30_days: list[Money] | None = None
    """What all plans of 30 days may cost, with the renewals of their names."""
    deletes_per_plan: int | None = None
    """How much a plan or a request may delete or replace."""
    deletes_per_30_days: int | None = None
    """How much it may delete or replace in 30 days."""
    outward: bool | None = None
    """Whether it may send mail, events or auth codes to somebody who did not get them before."""
    portfolio_account: str | None = None
    """The account whose portfolio it uses, of which you are a member; null: your own."""
