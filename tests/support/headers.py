"""The headers that tests send."""

ADMIN = {"x-auth-token": "admin"}

# With the newest version of the API.
HEADERS = {**ADMIN, "openstack-api-version": "placement 1.39"}
