"""Trees in the order that a client asks for: ranks, orders that are kept, and pages."""
