"""PostgreSQL: connections and transactions, migrations, partitions, group commit."""
