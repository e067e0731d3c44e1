"""Whatever is sent to a running server, the answer is never a server error."""
