"""The revision of the interface that this service implements."""

REVISION = "0.2.54"
