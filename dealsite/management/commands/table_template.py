import json
from typing import Any

from django.core.management.base import BaseCommand

from dealsite.data.table import schema

ABOUT = "The one table of Dealsite. Printed by manage.py table_template."


class Command(BaseCommand):
    help = "Prints the CloudFormation template of the table, made from the definition that setup_site uses."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(json.dumps(schema.cloudformation_template(ABOUT, table_name="dealsite"), indent=2))
