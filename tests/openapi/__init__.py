"""The OpenAPI document: complete, true of a running service, and good for generated clients."""
