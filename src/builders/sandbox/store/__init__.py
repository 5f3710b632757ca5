"""All SQL of the sandbox: a file for each of its tables."""
