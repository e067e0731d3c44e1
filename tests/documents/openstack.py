"""The OpenStack around the recipe on audits: Keystone, and a nova that has five things to say."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.audit.nova_stand_in import Nova
from tests.keystone.stand_in import PASSWORD, Keystone, token

# As the page writes them.
_UUID = "7c0f6a52-1d2e-4f3a-8b4c-00000000000"


@contextmanager
def openstack(folder: Path) -> Iterator[None]:
    """Puts an openrc for it into the folder."""
    tokens = {"admin": token("admin", project="admin", roles=("admin",))}
    with Keystone(tokens, passwords={"admin": PASSWORD}) as keystone, Nova(token="admin") as nova:
        keystone.services["compute"] = nova.url
        for number, host in ((1, "host1"), (2, "host2"), (4, "host2")):
            nova.add(f"{_UUID}{number}", host=host)
        nova.add_migration(f"{_UUID}5", "failed")
        variables = {
            "OS_AUTH_URL": f"{keystone.url}/v3",
            "OS_USERNAME": "admin",
            "OS_PASSWORD": PASSWORD,
            "OS_PROJECT_NAME": "admin",
            "OS_USER_DOMAIN_ID": "default",
            "OS_PROJECT_DOMAIN_ID": "default",
        }
        lines = (f"export {name}={value}\n" for name, value in variables.items())
        (folder / "openrc").write_text("".join(lines))
        yield
