"""The reference's own HTTP tests, run unmodified against a roost server."""
