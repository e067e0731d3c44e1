"""Choosing candidates for consumers and claiming them, in one call."""
