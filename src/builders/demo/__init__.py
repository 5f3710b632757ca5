"""The demo: a curated catalog with its images, and stand-ins for the world outside."""
