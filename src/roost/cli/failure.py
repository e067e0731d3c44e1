"""What ends a command."""


class Failure(Exception):
    """The command cannot do what it was asked; the message is one line for the user."""
