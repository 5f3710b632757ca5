"""The list of registrars: each connection, then the registrars without one."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.portfolio.domains import lookups
from builders.portfolio.registrars.connections import list_connections
from builders.portfolio.registrars.providers import ADAPTERS, get_profile
from builders.portfolio.registrars.records import Connection, RegistrarItem
from builders.portfolio.team.records import Access, Permission


async def list_registrars(conn: Conn, *, access: Access) -> Sequence[RegistrarItem]:
    """Return an item for each connection, then one for each registrar that is not connected."""
    connections = await list_connections(conn, account_id=access.portfolio_id)
    counts = await lookups.count_connections(conn, account_id=access.portfolio_id)
    connected = {each.provider for each in connections}
    others = [
        RegistrarItem(profile=each.profile, connection=None, hints=(), domains_count=0)
        for provider, each in ADAPTERS.items()
        if provider not in connected
    ]
    return [*(registrar_item(each, access=access, counts=counts) for each in connections), *others]


def registrar_item(connection: Connection, *, access: Access, counts: Mapping[UUID, int]) -> RegistrarItem:
    """Return a connection as a member of the portfolio may see it."""
    manages = access.has(Permission.MANAGE_REGISTRARS)
    return RegistrarItem(
        profile=get_profile(connection.provider),
        connection=connection,
        hints=connection.hints if manages else (),
        domains_count=counts.get(connection.id, 0),
    )
