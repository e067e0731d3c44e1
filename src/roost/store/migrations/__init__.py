"""Alembic's folder: the history of the tables."""
