"""Servers on one database, one for each configuration that the files need."""

import contextlib
from pathlib import Path
from typing import Self

import yaml

from roost.api.access.policy_rules import list_rules
from tests.conformance import selection
from tests.support.roost_server import RoostServer

# By the fixture of a file. All other files run with the former policy defaults of the reference.
CONFIGURATIONS = {
    "CORSFixture": """\
[oslo_policy]
enforce_new_defaults = false
[cors]
allowed_origin = http://valid.example.com
allow_headers = openstack-api-version
""",
    "OpenPolicyFixture": """\
[oslo_policy]
enforce_new_defaults = false
policy_file = open.yaml
""",
    "SecureRBACPolicyFixture": """\
[oslo_policy]
enforce_new_defaults = true
""",
}
DEFAULT = """\
[oslo_policy]
enforce_new_defaults = false
"""


class Servers(contextlib.ExitStack):
    """A server is started when the first file needs it."""

    def __init__(self, database_url: str, folder: Path) -> None:
        super().__init__()
        self._database_url = database_url
        self._folder = folder
        self._urls: dict[str, str] = {}  # by configuration

    def __enter__(self) -> Self:
        everything = {rule.name: "@" for rule in list_rules() if rule.name != "admin_api"}
        (self._folder / "open.yaml").write_text(yaml.safe_dump(everything))
        return self

    def url(self, file: str) -> str:
        """The address of the server for a file."""
        [fixture, *_] = selection.content(file)["fixtures"]
        configuration = CONFIGURATIONS.get(fixture, DEFAULT)
        if configuration not in self._urls:
            config_file = self._folder / f"{len(self._urls)}.conf"
            config_file.write_text(configuration)
            server = RoostServer(self._database_url, self._folder, config_file=config_file)
            self._urls[configuration] = self.enter_context(server).url
        return self._urls[configuration]
