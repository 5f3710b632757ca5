"""The addresses that people and browsers ask for by the host alone."""
