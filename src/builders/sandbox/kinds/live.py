"""The live state that a manifest or a plan concerns, of all kinds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from builders.aliases.records import Alias, Name, Standing
from builders.aliases.service import Reclaim, ReleaseTerms
from builders.catalog.records import CatalogDomain
from builders.domains.records import AccountDomain
from builders.projects.records import Project
from builders.webhooks.service import ManagedDestination

Routes = Mapping[Name, Sequence[Name]]  # from a name to those that mail to it is sent on to


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """An account's live state, as far as a manifest or a plan concerns it."""

    aliases: Sequence[Alias]
    standings: Mapping[Name, Standing]  # of wanted names that are not free
    domains: Mapping[str, CatalogDomain]  # on which names are to be claimed, the account's own too
    routes: Routes  # from the aliases to the names that they forward to
    projects: Sequence[Project] = ()  # archived ones too
    sizes: Mapping[UUID, int] = field(default_factory=dict)  # how many aliases a project has
    own: Mapping[str, AccountDomain] = field(default_factory=dict)  # the account's own live domains, by A-label
    webhooks: Sequence[ManagedDestination] = ()  # all of the account's
    overdue: str | None = None  # the number of an invoice whose grace is over
    reclaims: Mapping[Name, Reclaim] = field(default_factory=dict)  # of wanted names that are paid for
    releases: Mapping[UUID, ReleaseTerms] = field(default_factory=dict)  # of aliases that may go
    refused_urls: Mapping[str, str] = field(default_factory=dict)  # what is wrong with them
