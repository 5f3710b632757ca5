# Written by script/clients.
"""The areas of the service, imported when they are first used."""

from functools import cached_property
from typing import TYPE_CHECKING

from builders_client.generated.sync.sender import Sender

if TYPE_CHECKING:
    from builders_client.generated.sync.account import Account
    from builders_client.generated.sync.aliases import Aliases
    from builders_client.generated.sync.api_keys import ApiKeys
    from builders_client.generated.sync.auth import Auth
    from builders_client.generated.sync.catalog import Catalog
    from builders_client.generated.sync.domains import Domains
    from builders_client.generated.sync.invoices import Invoices
    from builders_client.generated.sync.leads import Leads
    from builders_client.generated.sync.mail import Mail
    from builders_client.generated.sync.messages import Messages
    from builders_client.generated.sync.portfolio import Portfolio
    from builders_client.generated.sync.probes import Probes
    from builders_client.generated.sync.profile import Profile
    from builders_client.generated.sync.projects import Projects
    from builders_client.generated.sync.sandbox import Sandbox
    from builders_client.generated.sync.tracking import Tracking
    from builders_client.generated.sync.webhooks import Webhooks


class Resources(Sender):
    """An attribute for each area."""

    @cached_property
    def account(self) -> "Account":
        """The account: its audit log, its machines, its deciders, and exports."""
        from builders_client.generated.sync.account import Account

        return Account(self)

    @cached_property
    def aliases(self) -> "Aliases":
        """Claimed names, the mailboxes they forward to, and the recipients' confirmations."""
        from builders_client.generated.sync.aliases import Aliases

        return Aliases(self)

    @cached_property
    def api_keys(self) -> "ApiKeys":
        """API keys, their presets and scopes."""
        from builders_client.generated.sync.api_keys import ApiKeys

        return ApiKeys(self)

    @cached_property
    def auth(self) -> "Auth":
        """Sign-in by email, sessions, login-as grants and the public keys of tokens."""
        from builders_client.generated.sync.auth import Auth

        return Auth(self)

    @cached_property
    def catalog(self) -> "Catalog":
        """The public catalog: domains, prices, availability of names and suggestions."""
        from builders_client.generated.sync.catalog import Catalog

        return Catalog(self)

    @cached_property
    def domains(self) -> "Domains":
        """Domains of the account: verification by DNS, mail health, and where names can be claimed."""
        from builders_client.generated.sync.domains import Domains

        return Domains(self)

    @cached_property
    def invoices(self) -> "Invoices":
        """Invoices, billing details and payment."""
        from builders_client.generated.sync.invoices import Invoices

        return Invoices(self)

    @cached_property
    def leads(self) -> "Leads":
        """Contact forms and the builders waitlist."""
        from builders_client.generated.sync.leads import Leads

        return Leads(self)

    @cached_property
    def mail(self) -> "Mail":
        """Unsubscribe links of emails."""
        from builders_client.generated.sync.mail import Mail

        return Mail(self)

    @cached_property
    def messages(self) -> "Messages":
        """Notices mailed to the account, with opens and clicks."""
        from builders_client.generated.sync.messages import Messages

        return Messages(self)

    @cached_property
    def portfolio(self) -> "Portfolio":
        """The domain portfolio: domains and their finance, team, events, notifications."""
        from builders_client.generated.sync.portfolio import Portfolio

        return Portfolio(self)

    @cached_property
    def probes(self) -> "Probes":
        """Liveness and readiness."""
        from builders_client.generated.sync.probes import Probes

        return Probes(self)

    @cached_property
    def profile(self) -> "Profile":
        """The profile of the account and the verification of its email address."""
        from builders_client.generated.sync.profile import Profile

        return Profile(self)

    @cached_property
    def projects(self) -> "Projects":
        """Builder projects, which group names and set their defaults and limits."""
        from builders_client.generated.sync.projects import Projects

        return Projects(self)

    @cached_property
    def sandbox(self) -> "Sandbox":
        """Manifest, plan, promotion: describe the desired state, review the changes, execute them."""
        from builders_client.generated.sync.sandbox import Sandbox

        return Sandbox(self)

    @cached_property
    def tracking(self) -> "Tracking":
        """Open and click links of emails."""
        from builders_client.generated.sync.tracking import Tracking

        return Tracking(self)

    @cached_property
    def webhooks(self) -> "Webhooks":
        """Webhook destinations, deliveries, and the catalog of events with their payloads."""
        from builders_client.generated.sync.webhooks import Webhooks

        return Webhooks(self)
