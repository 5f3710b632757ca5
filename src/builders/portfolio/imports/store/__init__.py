"""SQL of imports."""
