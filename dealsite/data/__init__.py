"""Everything that is stored: one module a noun, over one DynamoDB table."""

from django.utils.translation import gettext

from dealsite.data import definition, table

table.configure(definition.from_settings, translate=gettext)
