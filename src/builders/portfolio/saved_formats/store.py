"""SQL of saved formats."""

from builders.kit.db.columns import columns_of, settings_of
from builders.kit.db.queries import account_lock, query
from builders.portfolio.saved_formats.records import SavedFormat

COLUMNS = columns_of(SavedFormat)
# Concurrent ones count each other.
lock_formats = account_lock("portfolio_saved_formats")
# No row if the portfolio has `most` others.
save = query(f"""
    INSERT INTO portfolio_saved_formats (
        account_id, name, kind, mapping, date_order, decimal_mark, encoding, updated_at
    )
    SELECT %(account_id)s, %(name)s, %(kind)s, %(mapping)s, %(date_order)s, %(decimal_mark)s, %(encoding)s, %(now)s
    WHERE %(most)s > (
        SELECT count(*) FROM portfolio_saved_formats WHERE account_id = %(account_id)s AND name <> %(name)s
    )
    ON CONFLICT (account_id, name) DO UPDATE
    SET {settings_of(SavedFormat, "excluded")}
    RETURNING {COLUMNS}
""").one(SavedFormat)
find = query(f"""
    SELECT {COLUMNS} FROM portfolio_saved_formats
    WHERE account_id = %(account_id)s AND name = %(name)s
""").one(SavedFormat)
list_all = query(f"""
    SELECT {COLUMNS} FROM portfolio_saved_formats
    WHERE account_id = %(account_id)s ORDER BY name LIMIT %(most)s
""").all(SavedFormat)
delete = query("""
    DELETE FROM portfolio_saved_formats WHERE account_id = %(account_id)s AND name = %(name)s
""").changes()
