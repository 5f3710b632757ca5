"""What a resource is before an action and after it, as it is answered."""

from collections.abc import Sequence
from urllib.parse import urlsplit
from uuid import UUID

from builders.aliases import service as aliases
from builders.kit.bodies import Reply
from builders.sandbox.views import AliasView, DomainView, ProjectView, View


class AliasViewReply(Reply):
    """An alias before or after an action."""

    address: str
    key: str
    destinations: list[str]
    enabled: bool
    note: str | None
    labels: dict[str, str]
    project_id: UUID | None


class ProjectViewReply(Reply):
    """A project before or after an action."""

    key: str
    name: str
    slug: str | None
    description: str | None
    website: str | None
    allowed_domains: list[str]
    default_destination: str | None
    webhook_ids: list[UUID]
    alias_limit: int | None
    metadata: dict[str, str]


class WebhookViewReply(Reply):
    """A webhook destination before or after an action, without its secret."""

    key: str
    label: str
    url: str
    enabled: bool
    events: list[str]


class DomainViewReply(Reply):
    """The settings of an account domain before or after an action."""

    key: str
    domain: str
    default_destination: str | None
    catch_all: bool


ViewReply = AliasViewReply | ProjectViewReply | WebhookViewReply | DomainViewReply


def view_reply(view: View | None, *, masked: bool) -> ViewReply | None:
    """The answer; masked, it shows no mailbox, and of a URL only whose it is."""
    if view is None:
        return None
    if isinstance(view, AliasView):
        alias = AliasViewReply.model_validate(view)
        alias.destinations = _mailboxes(view.destinations) if masked else list(view.destinations)
        return alias
    if isinstance(view, ProjectView):
        project = ProjectViewReply.model_validate(view)
        project.default_destination = _mailbox(view.default_destination, masked=masked)
        return project
    if isinstance(view, DomainView):
        domain = DomainViewReply.model_validate(view)
        domain.default_destination = _mailbox(view.default_destination, masked=masked)
        return domain
    webhook = WebhookViewReply.model_validate(view)
    webhook.url = _url(view.url) if masked else view.url
    return webhook


def _mailboxes(emails: Sequence[str]) -> list[str]:
    return [aliases.mask(email) for email in emails]


def _mailbox(email: str | None, *, masked: bool) -> str | None:
    return aliases.mask(email) if masked and email is not None else email


def _url(url: str) -> str:
    """Only scheme and host: the rest may be what lets one in."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}/***"
