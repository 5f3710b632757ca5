"""Values without a package of their own: time, ids, money, text, domain names, addresses."""
