"""The start page, and the files that browsers and crawlers request beside it."""
