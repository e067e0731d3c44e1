"""roost behind Keystone: the real middleware, and a small Keystone of the tests' own."""
