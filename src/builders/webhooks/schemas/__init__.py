"""What goes over the wire at webhooks: a file for each file of `api`."""
