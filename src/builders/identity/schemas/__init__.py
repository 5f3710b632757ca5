"""What goes over the wire at identity, a file for each file of handlers."""
