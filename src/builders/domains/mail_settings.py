"""Where the mail of a domain goes: its catch-all, which forwards to the default destination."""

from collections.abc import Iterable
from uuid import UUID

from builders.aliases import confirmations
from builders.aliases.records import LIVE
from builders.catalog import availability
from builders.domains import store
from builders.domains.records import AccountDomain, DomainSettings
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.mandates import Mandate


async def validate(conn: Conn, *, domain: str, settings: DomainSettings) -> None:
    """Raise Invalid at the members of the body when mail would have no destination, or loop."""
    destination = settings.default_destination
    if settings.catch_all and destination is None:
        message = "A catch-all domain requires a default_destination."
        raise Invalid(("body", "default_destination"), message, "destination_missing")
    if destination is None:
        return
    target = destination.rpartition("@")[2]
    message = ""
    if target == domain:
        message = "The destination of the domain cannot be on the same domain."
    elif settings.catch_all and await list_forwarded(conn, domains=[target]):  # a name there can lead back
        message = "The destination of a catch-all cannot be on a domain whose mail this service forwards."
    if message:
        raise Invalid(("body", "default_destination"), message, "destination_loop")


async def validate_change(
    conn: Conn,
    *,
    domain: str,
    account_id: UUID,
    mandate: Mandate | None,
    after: DomainSettings,
    before: DomainSettings | None = None,
) -> None:
    """Do as `validate`; also raise MandateExceeded for what the mandate does not let be new outside."""
    await validate(conn, domain=domain, settings=after)
    if mandate is not None:
        mandate.require_known(await list_new(conn, account_id=account_id, before=before, after=after))


async def list_new(
    conn: Conn, *, account_id: UUID, before: DomainSettings | None, after: DomainSettings
) -> set[str]:
    """Return where mail of a domain would go that did not before: an address that the account never confirmed.

    A catch-all that begins is new whatever its destination: it receives mail of all names.
    """
    destination = after.default_destination
    if destination is None:
        return set()
    is_kept = before is not None and before.default_destination == destination
    begins = after.catch_all and not (before is not None and before.catch_all)
    if is_kept and not begins:
        return set()
    if begins:
        return {f"the catch-all to {destination}"}
    return await confirmations.list_new(conn, account_id=account_id, emails=[destination])


async def apply(conn: Conn, *, account_id: UUID, domains: Iterable[AccountDomain]) -> None:
    """Forward the mail of domains as they are set; recipients of new addresses have to confirm.

    A suspended domain forwards as before, like its names.
    """
    destinations = {each.domain: each.default_destination if each.is_catch_all else None for each in domains}
    await confirmations.set_catch_alls(conn, account_id=account_id, destinations=destinations)


async def list_forwarded(conn: Conn, *, domains: Iterable[str]) -> set[str]:
    """Return those of the domains (A-labels) whose mail this service forwards: of the catalog, or of an account.

    Whoever changes a name there receives its mail.
    """
    wanted = list(domains)
    return (
        await store.list_held(conn, realm=LIVE, domains=wanted)
        | (await availability.load_domains(conn, domains=wanted)).keys()
    )
