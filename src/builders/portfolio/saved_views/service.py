"""How each member of a team views the domains of a portfolio: the columns of lists, and saved views."""

from collections.abc import Sequence
from dataclasses import asdict

from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.portfolio.saved_views import store
from builders.portfolio.saved_views.records import NO_VIEWS, DomainColumn, SavedView, SavedViews
from builders.portfolio.team.records import Access


async def get_views(conn: Conn, *, access: Access) -> SavedViews:
    """Return the columns and the views that the member has saved for the portfolio."""
    found = await store.find(conn, account_id=access.portfolio_id, member_id=access.member_id)
    return found or NO_VIEWS


async def change_views(
    conn: Conn,
    *,
    access: Access,
    columns: Sequence[DomainColumn] | None = None,
    views: Sequence[SavedView] | None = None,
) -> SavedViews:
    """Save columns, views or both; None keeps what is saved."""
    return await store.save(
        conn,
        account_id=access.portfolio_id,
        member_id=access.member_id,
        columns=None if columns is None else list(columns),
        views=None if views is None else Jsonb([asdict(each) for each in views]),
        now=clock.now(),
    )
