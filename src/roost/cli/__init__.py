"""The `roost` command.

Modules that declare commands (main, serve, database, status, queries, agent) import nothing that
takes long to load, so that `--help` and shell completion are quick. What a command needs is
imported when it runs: server, tables, database_check, tree_view, explain_view and agent_actions
hold what needs granian, rich, the store or the client.
"""
