"""roost behind Keystone: the real middleware, and a minimal Keystone."""
