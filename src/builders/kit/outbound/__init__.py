"""What stands between us and the addresses that strangers give: rules, look-ups, connections."""
