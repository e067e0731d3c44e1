"""The commands that talk to a service, a module for each noun.

Their words are of one kind. `list` and `show` read. `create` and `delete` are for things that exist
by themselves. `set` changes what it names, and leaves the rest as it is; with `--replace` nothing
else remains. `unset` takes away what it names. A provider is always the first argument, by its name
or UUID.
"""
