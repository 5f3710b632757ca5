"""One module per registrar. An adapter translates the registrar's API into records."""
