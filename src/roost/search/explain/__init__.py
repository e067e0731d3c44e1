"""Why a request does not fit, and what would let it."""
