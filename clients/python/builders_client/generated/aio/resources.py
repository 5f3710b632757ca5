# Written by script/clients.
"""The areas of the service, imported when they are first used."""

from functools import cached_property
from typing import TYPE_CHECKING

from builders_client.aio.sender import AsyncSender

if TYPE_CHECKING:
    from builders_client.generated.aio.account import AsyncAccount
    from builders_client.generated.aio.aliases import AsyncAliases
    from builders_client.generated.aio.api_keys import AsyncApiKeys
    from builders_client.generated.aio.auth import AsyncAuth
    from builders_client.generated.aio.catalog import AsyncCatalog
    from builders_client.generated.aio.domains import AsyncDomains
    from builders_client.generated.aio.invoices import AsyncInvoices
    from builders_client.generated.aio.leads import AsyncLeads
    from builders_client.generated.aio.mail import AsyncMail
    from builders_client.generated.aio.messages import AsyncMessages
    from builders_client.generated.aio.portfolio import AsyncPortfolio
    from builders_client.generated.aio.probes import AsyncProbes
    from builders_client.generated.aio.profile import AsyncProfile
    from builders_client.generated.aio.projects import AsyncProjects
    from builders_client.generated.aio.sandbox import AsyncSandbox
    from builders_client.generated.aio.tracking import AsyncTracking
    from builders_client.generated.aio.webhooks import AsyncWebhooks


class AsyncResources(AsyncSender):
    """An attribute for each area."""

    @cached_property
    def account(self) -> "AsyncAccount":
        """The account: its audit log, its machines, its deciders, and exports."""
        from builders_client.generated.aio.account import AsyncAccount

        return AsyncAccount(self)

    @cached_property
    def aliases(self) -> "AsyncAliases":
        """Claimed names, the mailboxes they forward to, and the recipients' confirmations."""
        from builders_client.generated.aio.aliases import AsyncAliases

        return AsyncAliases(self)

    @cached_property
    def api_keys(self) -> "AsyncApiKeys":
        """API keys, their presets and scopes."""
        from builders_client.generated.aio.api_keys import AsyncApiKeys

        return AsyncApiKeys(self)

    @cached_property
    def auth(self) -> "AsyncAuth":
        """Sign-in by email, sessions, login-as grants and the public keys of tokens."""
        from builders_client.generated.aio.auth import AsyncAuth

        return AsyncAuth(self)

    @cached_property
    def catalog(self) -> "AsyncCatalog":
        """The public catalog: domains, prices, availability of names and suggestions."""
        from builders_client.generated.aio.catalog import AsyncCatalog

        return AsyncCatalog(self)

    @cached_property
    def domains(self) -> "AsyncDomains":
        """Domains of the account: verification by DNS, mail health, and where names can be claimed."""
        from builders_client.generated.aio.domains import AsyncDomains

        return AsyncDomains(self)

    @cached_property
    def invoices(self) -> "AsyncInvoices":
        """Invoices, billing details and payment."""
        from builders_client.generated.aio.invoices import AsyncInvoices

        return AsyncInvoices(self)

    @cached_property
    def leads(self) -> "AsyncLeads":
        """Contact forms and the builders waitlist."""
        from builders_client.generated.aio.leads import AsyncLeads

        return AsyncLeads(self)

    @cached_property
    def mail(self) -> "AsyncMail":
        """Unsubscribe links of emails."""
        from builders_client.generated.aio.mail import AsyncMail

        return AsyncMail(self)

    @cached_property
    def messages(self) -> "AsyncMessages":
        """Notices mailed to the account, with opens and clicks."""
        from builders_client.generated.aio.messages import AsyncMessages

        return AsyncMessages(self)

    @cached_property
    def portfolio(self) -> "AsyncPortfolio":
        """The domain portfolio: domains and their finance, team, events, notifications."""
        from builders_client.generated.aio.portfolio import AsyncPortfolio

        return AsyncPortfolio(self)

    @cached_property
    def probes(self) -> "AsyncProbes":
        """Liveness and readiness."""
        from builders_client.generated.aio.probes import AsyncProbes

        return AsyncProbes(self)

    @cached_property
    def profile(self) -> "AsyncProfile":
        """The profile of the account and the verification of its email address."""
        from builders_client.generated.aio.profile import AsyncProfile

        return AsyncProfile(self)

    @cached_property
    def projects(self) -> "AsyncProjects":
        """Builder projects, which group names and set their defaults and limits."""
        from builders_client.generated.aio.projects import AsyncProjects

        return AsyncProjects(self)

    @cached_property
    def sandbox(self) -> "AsyncSandbox":
        """Manifest, plan, promotion: describe the desired state, review the changes, execute them."""
        from builders_client.generated.aio.sandbox import AsyncSandbox

        return AsyncSandbox(self)

    @cached_property
    def tracking(self) -> "AsyncTracking":
        """Open and click links of emails."""
        from builders_client.generated.aio.tracking import AsyncTracking

        return AsyncTracking(self)

    @cached_property
    def webhooks(self) -> "AsyncWebhooks":
        """Webhook destinations, deliveries, and the catalog of events with their payloads."""
        from builders_client.generated.aio.webhooks import AsyncWebhooks

        return AsyncWebhooks(self)
