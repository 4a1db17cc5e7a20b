import json

from dealsite.data.table import schema
from dealsite.management.command import SiteCommand

ABOUT = "The one table of Dealsite. Printed by manage.py table_template."


class Command(SiteCommand):
    help = "Prints the CloudFormation template of the table, made from the definition that setup_site uses."
    requires_system_checks: list[str] = []

    def work(self) -> None:
        self.stdout.write(json.dumps(schema.cloudformation_template(ABOUT, table_name="dealsite"), indent=2))
