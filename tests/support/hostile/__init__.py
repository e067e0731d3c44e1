"""Clients that try to stop the service, and one beside them that wants to be served."""
