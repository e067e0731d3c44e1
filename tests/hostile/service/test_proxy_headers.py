"""Headers with which a proxy describes the client get no further than they should."""

import os
import re
from collections.abc import Iterator

import httpx
import pytest
from keystonemiddleware.auth_token import _request  # type: ignore[import-untyped]

from roost.assembly import build_application
from roost.settings import load_settings
from tests.deployment.apache_server import MODULES, ApacheServer
from tests.deployment.uwsgi_server import DEPLOY
from tests.hostile.service.proxy_upstream import upstream
from tests.support.certificates import write_certificates
from tests.support.database_servers import free_port
from tests.support.headers import HEADERS

CONTROLS = ["https\x1b[2J", "https\x85", "\x00", "https\t"]
SCHEMES = ["javascript", "file", "https:", "https://evil.example/", "https, http", "", *CONTROLS]
HOSTS = ["evil.example/path", "a b", "user@evil.example", "a, b", "h\x1b[2J", "a" * 300, "<x>", '"']
PREFIXES = ["//evil.example", "no-slash", "/a b", "/\x1b[2J", "/a" * 40, "/a\\b", "/a?b", "/<x>"]
CLIENTS = ["\x1b[2J", "a b", "1.2.3.4\x85", ", ".join(["1.2.3.4"] * 40), "x" * 200, "<x>"]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("proxied")
    path = folder / "placement.conf"
    path.write_text(
        "[api]\nauth_strategy = noauth2\n[roost]\nallow_remote_noauth2 = true\n"
        "[oslo_middleware]\nenable_proxy_headers_parsing = true\n"
    )
    application = build_application(
        settings=load_settings(config_files=[path]),
        database_url=f"sqlite:///{folder}/roost.db",
        sync=True,
    )
    # httpx itself would encode other values.
    transport = httpx.WSGITransport(app=lambda *call: application(*_with_headers(*call)))
    with httpx.Client(
        transport=transport, base_url="http://cloud.example", headers=HEADERS
    ) as client:
        yield client


class TestService:
    """What a proxy lets through: roost believes only what makes sense."""

    def location(self, client: httpx.Client, **headers: str) -> str:
        _given.clear()
        _given.update(headers)
        # The answer to this one is 201 or 204, and names the class.
        return client.put("/resource_classes/CUSTOM_ONE").headers["location"]

    def test_what_proxies_send_is_believed(self, client: httpx.Client) -> None:
        assert (
            self.location(
                client,
                X_FORWARDED_PROTO="HTTPS",
                X_FORWARDED_HOST="public.example:8443",
                X_FORWARDED_PREFIX="/placement",
                X_FORWARDED_FOR="2001:db8::1, 10.0.0.1",
            )
            == "https://public.example:8443/placement/resource_classes/CUSTOM_ONE"
        )
        forwarded = 'for="[2001:db8::1]:4711";proto=https;host=public.example, for=10.0.0.1'
        expected = "https://public.example/resource_classes/CUSTOM_ONE"
        assert self.location(client, FORWARDED=forwarded) == expected
        ipv6 = self.location(client, X_FORWARDED_HOST="[2001:db8::1]:80", X_FORWARDED_PROTO="http")
        assert ipv6.startswith("http://[2001:db8::1]")

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            *(("X_FORWARDED_PROTO", value) for value in SCHEMES),
            *(("X_FORWARDED_HOST", value) for value in HOSTS),
            *(("X_FORWARDED_PREFIX", value) for value in PREFIXES),
            *(("X_FORWARDED_FOR", value) for value in CLIENTS),
            # A comma, and white space of any kind, end the value.
            *(
                ("FORWARDED", f"for=1.2.3.4;proto={value}")
                for value in SCHEMES
                if value.partition(",")[0].strip() not in ("", "https")
            ),
            *(("FORWARDED", f"host={value}") for value in HOSTS if "," not in value),
            ("FORWARDED", "for=1.2.3.4" * 1000),
        ],
        ids=lambda value: ascii(value)[:40],
    )
    def test_anything_else_is_ignored(self, client: httpx.Client, name: str, value: str) -> None:
        expected = "http://cloud.example/resource_classes/CUSTOM_ONE"
        assert self.location(client, **{name: value}) == expected


_given: dict[str, str] = {}


def _with_headers(environ: dict[str, str], start_response: object) -> tuple[object, object]:
    environ.update({f"HTTP_{name}": value for name, value in _given.items()})
    return environ, start_response


# ---------------------------------------------------------------------------------------------
# The proxies of deploy/


def identity_headers() -> set[str]:
    """The headers in which Keystone's middleware tells who a user is."""
    known = _request._AuthTokenRequest
    templates = [*known._HEADER_TEMPLATE, known._ROLES_TEMPLATE]
    prefixes = (known._USER_HEADER_PREFIX, known._SERVICE_HEADER_PREFIX)
    return {template % prefix for template in templates for prefix in prefixes} | {
        known._USER_STATUS_HEADER,
        known._SERVICE_STATUS_HEADER,
        known._ADMIN_PROJECT_HEADER,
        known._SYSTEM_SCOPE_HEADER,
        known._SERVICE_CATALOG_HEADER,
        *known._DEPRECATED_HEADER_MAP,
    }


FORWARDED = {"X-Forwarded-Host", "X-Forwarded-For", "X-Forwarded-Prefix", "Forwarded"}
FORGED = identity_headers() | FORWARDED | {"X-Forwarded-Proto"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service behind Apache with deploy/apache.conf."""
    folder = tmp_path_factory.mktemp("apache")
    folder.chmod(0o777)
    _, certificate, key = write_certificates(folder, address="127.0.0.1")
    port = free_port()
    loaded = "ssl proxy_http proxy_balancer proxy_hcheck lbmethod_byrequests slotmem_shm headers"
    extra = [*loaded.split(), "watchdog", "socache_shmcb"]
    lines = [f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in extra]
    with upstream() as service:
        site = (DEPLOY / "apache.conf").read_text()
        for pattern, value in [
            (r"\*:443", f"127.0.0.1:{port}"),
            (r"/etc/ssl/certs/\S+", str(certificate)),
            (r"/etc/ssl/private/\S+", str(key)),
            ("127.0.0.1:8778", f"127.0.0.1:{service}"),
        ]:
            site, count = re.subn(pattern, value, site)
            assert count == 1
        built_in = "" if (MODULES / "mod_watchdog.so").exists() else "watchdog"
        lines = [line for line in lines if not built_in or built_in not in line]
        url = f"https://127.0.0.1:{port}/placement/headers"
        with ApacheServer(
            folder,
            "\n".join([*lines, f"Listen 127.0.0.1:{port}", site]),
            environment=os.environ,
            is_ready=lambda: httpx.get(url, verify=False).status_code == 200,
        ):
            yield url


class TestApache:
    def received(self, url: str, **headers: str) -> dict[str, str]:
        answer = httpx.get(url, verify=False, headers={"X-Auth-Token": "token", **headers})
        answer.raise_for_status()
        return {name.lower(): value for name, value in answer.json()}

    def test_headers_of_clients_do_not_get_through(self, url: str) -> None:
        received = self.received(url, **dict.fromkeys(FORGED, "forged"))
        assert "forged" not in received.values()
        assert received["x-forwarded-proto"] == "https"
        assert received["x-auth-token"] == "token"

    @pytest.mark.parametrize("name", ["X_Forwarded_Host", "X_Auth_Token", "X-Project_Id", "a_"])
    def test_nor_do_those_with_underscores(self, url: str, name: str) -> None:
        assert httpx.get(url, verify=False, headers={name: "forged"}).status_code == 403


class TestOtherProxies:
    """They are not installed where tests run. Their configurations name what they drop."""

    def test_nginx(self) -> None:
        text = (DEPLOY / "nginx.conf").read_text()
        dropped = set(re.findall(r'^ +proxy_set_header (\S+) "";$', text, flags=re.M))
        replaced = set(re.findall(r"^ +proxy_set_header (\S+) \$", text, flags=re.M))
        assert dropped | replaced >= FORGED
        assert re.search(r"^ +underscores_in_headers off;$", text, flags=re.M)

    def test_haproxy(self) -> None:
        text = (DEPLOY / "haproxy.cfg").read_text()
        names = re.findall(r"^ +http-request (?:set|del)-header (\S+)(?: (?!-m)|$)", text, re.M)
        patterns = re.findall(r"^ +http-request del-header (\S+) -m reg$", text, re.M)
        left = {
            name
            for name in FORGED - set(names)
            if not any(re.fullmatch(pattern[1:-1], name.lower()) for pattern in patterns)
        }
        assert left == set()
        assert not any(re.fullmatch(pattern[1:-1], "x-auth-token") for pattern in patterns)
        assert re.search(r"^ +http-request del-header _ -m sub$", text, flags=re.M)
