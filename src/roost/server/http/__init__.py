"""HTTP/1.1 on sockets: from bytes to requests, and from answers to bytes."""
