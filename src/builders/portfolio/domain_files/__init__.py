"""Files that list domains: exports of registrars and marketplaces, sheets and lists, read into drafts."""
