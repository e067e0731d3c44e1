"""Whether a driver can serve the URL of the database."""

from roost.health.outcome import Outcome, failure, first_line, remark, success
from roost.settings import Settings
from roost.store.connection.database_url import read_url
from roost.store.connection.shown_url import database_name
from roost.store.connection.url_parameters import InvalidDatabaseUrl

DATABASE_CHECK = "database"


def database_url_outcomes(settings: Settings) -> list[Outcome]:
    """Which driver serves the URL; a failure if none can."""
    option = "[placement_database]connection"
    parameters = settings.database.connection_parameters
    try:
        found = read_url(settings.database_url, parameters)
    except InvalidDatabaseUrl as error:
        shown = database_name(settings.database_url)
        return [failure(DATABASE_CHECK, f"{option} = {shown}: {first_line(error)}")]
    if not found.remarks:
        return [success("driver", found.driver)]
    return [remark("driver", f"{option} {each}") for each in found.remarks]
