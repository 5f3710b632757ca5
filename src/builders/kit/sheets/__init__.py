"""Tables as files: read whatever spreadsheets and vendors export (CSV), write what spreadsheets open safely."""
