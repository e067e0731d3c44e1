"""Alembic's folder: the revisions of roost's tables, and what runs them."""
