"""The catalog as a CSV file (docs/reference/catalog-csv.md): its cells, rows and images, and the load."""
