import json

from dealsite.data.table import schema
from dealsite.home import COMMAND
from dealsite.management.command import SiteCommand

ABOUT = f"The one table of Dealsite. Printed by {COMMAND} table_template."


class Command(SiteCommand):
    help = "Prints the CloudFormation template of the table, made from the definition that setup_site uses."
    requires_system_checks: list[str] = []

    def work(self) -> None:
        self.stdout.write(json.dumps(schema.cloudformation_template(ABOUT, table_name="dealsite"), indent=2))
