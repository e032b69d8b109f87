"""A fleet of a million monitors, made by the database itself, and what the product costs on it."""
