"""Everything that is stored: one module a noun, over one DynamoDB table, which is where the settings say."""

from django.conf import settings
from django.utils.translation import gettext

from dealsite.data import keys, table
from dealsite.data.entities.chart import ENTITIES
from dealsite.home import COMMAND

SCHEMAS = table.Schemas({name: table.Schema(one.schema, one.upgrades) for name, one in ENTITIES.items()})
MISSING = f"The table does not exist. `{COMMAND} setup_site` makes it."


def configuration() -> table.Configuration:
    """Return where the table is now."""
    return table.Configuration(
        table_name=settings.DEALSITE_TABLE,
        region=settings.DEALSITE_REGION,
        endpoint_url=settings.DYNAMODB_ENDPOINT_URL,
        indexes=keys.INDEXES,
        missing=MISSING,
        local_key="dealsite",
        schemas=SCHEMAS,
    )


table.configure(configuration, translate=gettext)
