"""Measures durable claims: what a service commits when COMMIT waits for the disk."""
