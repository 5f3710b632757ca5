"""Values that all packages share: time, ids, money, text, domain names, addresses."""
