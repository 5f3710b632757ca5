"""SQL of saved views."""

from collections.abc import Mapping, Sequence

from builders.kit.db.queries import query
from builders.portfolio.saved_views.records import DomainColumn, SavedView, SavedViews


def _views(*, columns: Sequence[str], views: Sequence[Mapping[str, str]]) -> SavedViews:
    return SavedViews(
        columns=[DomainColumn(each) for each in columns], views=[SavedView(**each) for each in views]
    )


find = query("""
    SELECT columns, views FROM portfolio_saved_views
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s
""").one(_views)
# Null keeps what is there.
save = query("""
    INSERT INTO portfolio_saved_views AS saved (account_id, member_id, columns, views, updated_at)
    VALUES (
        %(account_id)s, %(member_id)s,
        coalesce(%(columns)s::text[], '{}'), coalesce(%(views)s::jsonb, '[]'), %(now)s
    )
    ON CONFLICT (account_id, member_id) DO UPDATE
    SET columns = coalesce(%(columns)s::text[], saved.columns), views = coalesce(%(views)s::jsonb, saved.views),
        updated_at = excluded.updated_at
    RETURNING columns, views
""").only(_views)
