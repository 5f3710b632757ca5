"""Outgoing mail: letters, their delivery, who wants no more of them, and the links that tell of reading."""
