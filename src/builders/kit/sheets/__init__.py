"""Tables as files: read the CSV of spreadsheets and vendors, and write CSV that spreadsheets open safely."""
