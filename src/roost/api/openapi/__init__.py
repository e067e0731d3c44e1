"""The API as an OpenAPI document, made from the table of routes.

OpenAPI has no microversions, so there is a document for each of them. In one version a body and an
answer have one form, so a client that is generated from its document is simple. `x-openstack` has
the first and the last version of an operation or a parameter.
"""

from roost.api.openapi.document import document
from roost.api.openapi.versioning import X_OPENSTACK

__all__ = ["X_OPENSTACK", "document"]
