"""No request, however strange, makes a running server answer with a server error."""
