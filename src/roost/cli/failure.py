"""What ends a command."""


class Failure(Exception):
    """The command cannot do what it was asked; the message is one line for the user."""

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class BadInput(Failure):
    """What the user gave is wrong: arguments, files, the environment. As click says of usage: 2."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_code=2)
