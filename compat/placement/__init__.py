"""roost under the names by which deployment tools call OpenStack Placement."""
