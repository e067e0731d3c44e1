"""URLs as operators have them: which driver serves them, and what becomes of their parameters."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from sqlalchemy import text
from sqlalchemy.dialects import plugins
from sqlalchemy.engine import URL, CreateEnginePlugin

from roost.errors import Unavailable
from roost.settings import Settings
from roost.store.connection.database_url import read_url
from roost.store.connection.engine import EngineOptions, create_engine, create_reader
from roost.store.connection.url_parameters import InvalidDatabaseUrl
from roost.store.store import Store
from tests.support.certificates import write_certificates
from tests.support.database_servers import MariaDB, PostgreSQL

PSYCOPG, PYMYSQL = "postgresql+psycopg", "mysql+pymysql"


@pytest.mark.parametrize(
    ("url", "drivername", "remarks"),
    [
        ("postgresql+psycopg://h/d", PSYCOPG, []),
        ("postgresql+psycopg2://h/d", PSYCOPG, ["names psycopg2; using psycopg"]),
        ("postgresql+asyncpg://h/d", PSYCOPG, ["names asyncpg; using psycopg"]),
        ("postgresql://h/d", PSYCOPG, ["names no driver; using psycopg"]),
        ("postgres://h/d", PSYCOPG, ["names no driver; using psycopg"]),
        ("mysql+pymysql://h/d", PYMYSQL, []),
        ("mysql+mysqldb://h/d", PYMYSQL, ["names mysqldb; using pymysql"]),
        ("mysql+mysqlconnector://h/d", PYMYSQL, ["names mysqlconnector; using pymysql"]),
        ("mysql://h/d", PYMYSQL, ["names no driver; using pymysql"]),
        ("mariadb://h/d", PYMYSQL, ["names no driver; using pymysql"]),
        ("mariadb+pymysql://h/d", PYMYSQL, []),
        ("mariadb+mariadbconnector://h/d", PYMYSQL, ["names mariadbconnector; using pymysql"]),
        ("sqlite:////tmp/x.db", "sqlite", []),
        ("sqlite+pysqlite:////tmp/x.db", "sqlite", []),
    ],
)
def test_the_driver_that_is_installed_serves_the_url(
    url: str, drivername: str, remarks: list[str]
) -> None:
    found = read_url(url)
    assert found.url.drivername == drivername
    expected = [f"{remark}, which is installed" for remark in remarks]
    assert list(found.remarks) == expected


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("nonsense", "it is not a URL"),
        ("mysql://me:p@ss:word@db:port/x", "it is not a URL"),
        ("mysql://h:/d", "it is not a URL"),
        ("mysql://h/d?charset=utf8\nssl_ca=/x", "it is more than one line"),
        ("mysql://h:99999/d", "its port is 99999: expected one up to 65535"),
        ("mysql://me:p@word@db/x", "it has an @ after that of the password: expected %40"),
        ("mysql://me:p@ss/word@db/x", "it has an @ after that of the password: expected %40"),
        ("postgresql://m/e:word@db/x", "it has an @ after that of the password: expected %40"),
        ("postgresql://me:p@h?word@db/x", "its parameter *** has no value"),
        ("postgresql://me:p@h?word@db/x=1", "the driver psycopg knows no parameter ***"),
        ("sqlite://x.db", "roost needs a SQLite file: sqlite:////path/to/roost.db"),
        ("oracle://h/d", "roost knows no database oracle"),
        ("postgresql+odbc://h/d", "roost knows no driver odbc: expected postgresql+psycopg"),
        ("sqlite+pysqlcipher:////x.db", "roost knows no driver pysqlcipher"),
        # Parameters
        ("postgresql://h/d?sslmod=require", "no parameter sslmod (closest: sslmode)"),
        ("postgresql://h/d?ssl_ca=/x", "the driver psycopg knows no parameter ssl_ca"),
        ("postgresql://h/d?client_encoding=latin1", "client_encoding is latin1: expected utf8"),
        ("postgresql://h/d?sslmode=require&sslmode=disable", "sslmode occurs 2 times"),
        ("postgresql:///d?host=a:1&host=b:x", "its hosts and ports: Received non-integer port"),
        ("postgresql:///d?host=a,b,c&port=1,2", "its hosts and ports: number of hosts and ports"),
        ("postgresql://h/d?sslmode=", "its parameter sslmode has no value"),
        ("mysql://h/d?ssl_ca=", "its parameter ssl_ca has no value"),
        ("mysql://me:?@h/d?charset=utf8&ssl_ca", "its parameter ssl_ca has no value"),
        ("sqlite:////x.db?timeout=", "its parameter timeout has no value"),
        ("mysql://h/d?sslmode=require", "pymysql knows no parameter sslmode (closest: ssl_mode)"),
        ("mysql://h/d?ssl_mode=maybe", "ssl_mode is maybe: expected one of DISABLED, PREFERRED"),
        ("mysql://h/d?ssl_mode=VERIFY_CA", "expected ssl_ca or ssl_capath too"),
        ("mysql://h/d?ssl_verify_identity=true", "expected ssl_ca or ssl_capath too"),
        ("mysql://h/d?ssl_ca=/none", "ssl_ca is /none: expected a file of certificates (No such"),
        ("mysql://h/d?ssl_capath=/none", "ssl_capath is /none: expected a folder"),
        ("mysql://h/d?ssl_cert=/none", "ssl_cert is /none: expected a certificate"),
        ("mysql://h/d?ssl_cipher=none", "ssl_cipher is none: expected ciphers"),
        ("mysql://h/d?ssl_disabled=x", "ssl_disabled is x: expected true or false"),
        # Contradictions, and what would not be used
        ("mysql://h/d?ssl=false&ssl_mode=REQUIRED", "ssl and ssl_mode contradict each other"),
        ("mysql://h/d?ssl=false&ssl_mode=PREFERRED", "ssl and ssl_mode contradict each other"),
        ("mysql://h/d?ssl=false&ssl_ca=/x", "ssl and ssl_ca contradict each other"),
        ("mysql://h/d?ssl_disabled=1&ssl=1", "ssl_disabled and ssl contradict each other"),
        ("mysql://h/d?ssl_mode=DISABLED&ssl_cipher=x", "ssl_mode and ssl_cipher contradict each"),
        ("mysql://h/d?ssl_mode=disabled&ssl_disabled=0", "ssl_mode and ssl_disabled contradict"),
        (
            "mysql://h/d?ssl_mode=DISABLED&ssl_verify_identity=true",
            "ssl_mode and ssl_verify_identity contradict each other",
        ),
        (
            "mysql://h/d?ssl_mode=VERIFY_CA&ssl_verify_cert=false&ssl_ca=/x",
            "ssl_mode and ssl_verify_cert contradict each other",
        ),
        (
            "mysql://h/d?ssl_mode=VERIFY_IDENTITY&ssl_check_hostname=false&ssl_ca=/x",
            "ssl_mode and ssl_check_hostname contradict each other",
        ),
        (
            "mysql://h/d?ssl_verify_identity=1&ssl_verify_cert=0&ssl_ca=/x",
            "ssl_verify_identity and ssl_verify_cert contradict each other",
        ),
        (
            "mysql://h/d?ssl_check_hostname=1&ssl_verify_cert=0&ssl_ca=/x",
            "ssl_check_hostname and ssl_verify_cert contradict each other",
        ),
        ("mysql://h/d?ssl=true&ssl_mode=VERIFY_CA", "expected ssl_ca or ssl_capath too"),
        ("mysql://h/d?ssl_key=/none", "its parameter ssl_key has no effect without ssl_cert"),
        ("mysql://h/d?ssl_key_password=x", "ssl_key_password has no effect without ssl_cert"),
        ("mysql://h/d?charset=koi8r", "charset is koi8r: expected one of utf8, utf8mb3, utf8mb4"),
        ("mysql://h/d?charset=utf8&charset=utf8mb4", "charset occurs 2 times"),
        ("mysql://h/d?connect_timeout=soon", "connect_timeout is soon: expected a number above 0"),
        ("mysql://h/d?read_timeout=-1", "read_timeout is -1: expected a number above 0"),
        ("mysql://h/d?sql_mode=ANSI", "its parameter sql_mode is set by roost: leave it out"),
        ("mysql://h/d?compress=true", "the driver pymysql knows no parameter compress"),
        ("mysql://h/d?plugin=nowhere", "plugin names nowhere, and no plugin of SQLAlchemy"),
        ("sqlite:////x.db?mode=ro", "the driver pysqlite knows no parameter mode"),
        ("sqlite:///file:/x?uri=true&mode=memory", "mode is memory: expected a database that"),
        ("sqlite:////x.db?timeout=x", "timeout is x: expected a number above 0"),
        ("sqlite:////x.db?timeout=nan", "timeout is nan: expected a number above 0"),
        ("sqlite:////x.db?isolation_level=x", "isolation_level is set by roost"),
    ],
)
def test_what_cannot_work_is_refused_by_its_name(url: str, reason: str) -> None:
    with pytest.raises(InvalidDatabaseUrl) as caught:
        read_url(url)
    message = str(caught.value)
    assert reason in message
    assert "\n" not in message
    assert "word" not in message.replace("password", "")


def test_parameters_without_an_effect_are_named() -> None:
    found = read_url("mysql+pymysql://h/d?charset=utf8&use_unicode=0&collation=utf8_general_ci")
    assert list(found.remarks) == [
        "has the charset utf8; using utf8mb4, which contains it",
        "has the parameter collation, which has no effect",
        "has the parameter use_unicode, which has no effect",
    ]
    assert found.arguments == {"charset": "utf8mb4"}
    assert found.url.query == {}


def test_connection_parameters_are_added() -> None:
    found = read_url("postgresql://h/d?sslmode=require", "application_name=placement")
    assert found.url.query == {"sslmode": "require", "application_name": "placement"}
    with pytest.raises(InvalidDatabaseUrl, match="no parameter nonsense"):
        read_url("postgresql://h/d", "nonsense=1")
    with pytest.raises(InvalidDatabaseUrl, match="its parameter ssl_ca has no value"):
        read_url("mysql://h/d", "ssl_ca")


def test_postgresql_may_have_several_hosts() -> None:
    for query in ("host=a:1&host=b:2", "host=a,b&port=1,2"):
        read_url(f"postgresql:///d?{query}")


def option_file(folder: Path, content: str) -> str:
    path = folder / "my.cnf"
    path.write_text(content)
    return f"mysql://h/d?read_default_file={path}&read_default_group=tripleo"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("password = hunter2\n", "expected sections of options (line 1)"),
        ("[tripleo]\nhost = a\n= hunter2\n", "expected sections of options (line 3)"),
        ("[tripleo]\nhost = a\nhost = hunter2\n", "expected sections of options (line 3)"),
        ("[tripleo]\nport = hunter2\n", "expected a number as its port"),
        ("[tripleo]\nssl-ca = /none\n", "ssl_ca is /none: expected a file of certificates"),
        ("[tripleo]\nssl_cert = '/none'\n", "ssl_cert is /none: expected a certificate"),
    ],
)
def test_a_file_of_options_that_cannot_be_used_is_refused(
    tmp_path: Path, content: str, reason: str
) -> None:
    with pytest.raises(InvalidDatabaseUrl) as caught:
        read_url(option_file(tmp_path, content))
    message = str(caught.value)
    assert f"its parameter read_default_file is {tmp_path}/my.cnf: " in message
    assert reason in message
    assert "\n" not in message
    assert "hunter2" not in message


def test_a_file_of_options_may_lack_the_section_or_be_missing(tmp_path: Path) -> None:
    """PyMySQL then uses none, and deployments have such files."""
    for content in ("", "[client]\nport = x\n", "[tripleo]\nbind-address = 127.0.0.1\nport\n"):
        found = read_url(option_file(tmp_path, content).replace("mysql:", "mysql+pymysql:"))
        assert found.arguments["read_default_group"] == "tripleo"
        assert not found.remarks
    with pytest.raises(InvalidDatabaseUrl, match="a file that roost can read"):
        read_url(f"mysql://h/d?read_default_file={tmp_path}")
    path = tmp_path / "none.cnf"
    found = read_url(f"mysql+pymysql://h/d?read_default_file={path}")
    assert list(found.remarks) == [f"has read_default_file={path}, and there is no such file"]


@pytest.mark.parametrize(
    ("url", "module", "advice"),
    [
        ("mysql+mysqldb://h/d", "pymysql", "its driver pymysql is not installed"),
        ("postgresql+psycopg2://h/d", "psycopg", "psycopg2 is installed, but roost does not work"),
        ("postgresql://h/d", "psycopg", "pip install 'roost[postgresql]'"),
    ],
)
def test_a_missing_driver_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, url: str, module: str, advice: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InvalidDatabaseUrl) as caught:
        read_url(url)
    assert advice in str(caught.value)
    assert "pip install 'roost[" in str(caught.value)


MYSQL_DRIVERS = ["mysql+mysqldb", "mysql", "mariadb", "mariadb+pymysql", "mysql+pymysql"]
POSTGRESQL_DRIVERS = ["postgresql+psycopg2", "postgresql", "postgres"]


def scalar(url: str, statement: str, **options: str) -> str:
    """What the sessions for writes, and those for reads, both answer."""
    answers = set()
    for create in (create_engine, create_reader):
        engine = create(url, EngineOptions(**options))
        try:
            with engine.connect() as connection:
                answers.add(str(connection.scalar(text(statement))))
                connection.rollback()
        finally:
            engine.dispose()
    [answer] = answers
    return answer


@pytest.mark.parametrize("driver", MYSQL_DRIVERS)
def test_urls_of_mysql_lead_to_a_connection(mariadb: MariaDB, driver: str) -> None:
    url = mariadb.url("mysql").replace("mysql+pymysql", driver)
    for query in ("charset=utf8", "charset=utf8mb4", "charset=utf8&use_unicode=1"):
        assert scalar(f"{url}?{query}", "SELECT @@character_set_client") == "utf8mb4"
    assert scalar(url, "SELECT @@character_set_client") == "utf8mb4"


def test_parameters_of_mysql_take_effect(mariadb: MariaDB) -> None:
    url = mariadb.url("mysql")
    assert scalar(f"{url}?init_command=SET%20%40x=7", "SELECT @x") == "7"
    assert scalar(url, "SELECT @x", connection_parameters="init_command=SET @x=8") == "8"
    timeouts = "connect_timeout=5&read_timeout=5&write_timeout=5&max_allowed_packet=1000000"
    assert scalar(f"{url}?{timeouts}&local_infile=0&program_name=placement", "SELECT 1") == "1"
    # This server has no certificate, and does not know this user.
    for wrong in (f"{url}?ssl_mode=REQUIRED", url.replace("root@", "nobody:hunter2@")):
        store = Store.open(wrong)
        with pytest.raises(Unavailable):
            store.load()
        store.dispose()
    assert scalar(f"{url}?ssl_mode=PREFERRED", "SELECT 1") == "1"


@pytest.mark.parametrize("driver", POSTGRESQL_DRIVERS)
def test_urls_of_postgresql_lead_to_a_connection(postgresql: PostgreSQL, driver: str) -> None:
    url = postgresql.url("postgres").replace("postgresql+psycopg", driver)
    query = "sslmode=prefer&application_name=placement&connect_timeout=5&client_encoding=utf8"
    assert scalar(f"{url}?{query}", "SHOW application_name") == "placement"
    store = Store.open(f"{url}?sslmode=require")
    with pytest.raises(Unavailable):
        store.load()
    store.dispose()


class EncryptedMariaDB(MariaDB):
    """Has a certificate for its address, of an authority that nobody else knows."""

    authority: Path

    def _create(self) -> None:
        super()._create()
        self.authority, self._certificate, self._key = write_certificates(
            self._folder, address="127.0.0.1"
        )
        for path in (self._certificate, self._key):
            path.chmod(0o644)

    def _serve_command(self) -> list[str]:
        certificate = [f"--ssl-cert={self._certificate}", f"--ssl-key={self._key}"]
        return [*super()._serve_command(), f"--ssl-ca={self.authority}", *certificate]


@pytest.fixture(scope="module")
def encrypted() -> Iterator[EncryptedMariaDB]:
    with EncryptedMariaDB() as server:
        yield server


CIPHER = "SELECT variable_value FROM information_schema.session_status WHERE variable_name = "


@pytest.mark.server
def test_encryption_of_mysql_is_as_the_url_says(encrypted: EncryptedMariaDB) -> None:
    """Whether a session is encrypted, and whether the server was verified."""
    url = encrypted.url("mysql")
    by_name = url.replace("127.0.0.1", "localhost")
    mine, system = f"ssl_ca={encrypted.authority}", "ssl_ca=/etc/ssl/certs/ca-certificates.crt"

    def cipher(url: str) -> str:
        return scalar(url, f"{CIPHER}'ssl_cipher'")

    for query in (mine, "ssl_mode=REQUIRED", "ssl=true", "ssl_verify_cert=false", ""):
        assert cipher(f"{url}?{query}"), query
    assert cipher(f"{url}?ssl_mode=VERIFY_IDENTITY&{mine}")
    # The certificate is for the address alone.
    for query in (f"ssl_mode=VERIFY_CA&{mine}", f"ssl_check_hostname=false&{mine}"):
        assert cipher(f"{by_name}?{query}"), query
    for query in ("ssl_mode=DISABLED", "ssl_disabled=true", "ssl=false&ssl_verify_cert=0"):
        assert not cipher(f"{url}?{query}"), query
    refused = [f"{url}?{system}", f"{by_name}?{mine}", f"{by_name}?ssl_verify_identity=1&{mine}"]
    for wrong in refused:
        store = Store.open(wrong)
        with pytest.raises(Unavailable, match="certificate verify failed"):
            store.load()
        store.dispose()


class Recorder(CreateEnginePlugin):
    """What devstack's `plugin=dbcounter` is: code that sees every engine."""

    databases: ClassVar[list[str | None]] = []

    def update_url(self, url: URL) -> URL:
        return url

    def engine_created(self, engine: object) -> None:
        self.databases.append(self.url.database)


def test_a_plugin_that_is_installed_is_used(tmp_path: Path) -> None:
    plugins.register("recorder", __name__, "Recorder")
    Recorder.databases.clear()
    path = f"{tmp_path / 'roost.db'}"
    assert scalar(f"sqlite:///{path}?plugin=recorder&timeout=5", "PRAGMA busy_timeout") == "5000"
    assert Recorder.databases == [path, path]


def test_settings_name_the_parameters_too() -> None:
    settings = Settings().on_database("mysql://h/d?nonsense=1")
    with pytest.raises(InvalidDatabaseUrl, match="no parameter nonsense"):
        Store.open(settings.database_url)
