"""Import and export of a portfolio: files of registrars and marketplaces, hand-made sheets, lists of names."""
