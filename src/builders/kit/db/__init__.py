"""PostgreSQL: connections and transactions, migrations, partitions, group commit, the embedded server."""
