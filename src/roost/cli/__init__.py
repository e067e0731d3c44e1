"""The `roost` command.

Modules that declare commands (main, serve, database, status, the modules of commands, and `command`
in agent, audit and tree) import nothing that takes long to load, so that `--help` and shell
completion are quick. What a command needs is imported when it runs: the other modules hold what
needs httptools, rich, the store or the client.
"""
