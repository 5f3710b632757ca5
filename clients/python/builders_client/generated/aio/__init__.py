# Written by script/clients.
"""Generated from the OpenAPI document."""
