"""Every address of the site."""

from importlib.util import find_spec

from django.conf import settings
from django.urls import include, path

from dealsite import health, media

urlpatterns = [
    path("healthz", health.process, name="healthz"),
    path("readyz", health.ready, name="readyz"),
]
if not settings.DEALSITE_MEDIA_BUCKET:
    urlpatterns.append(path("media/<path:name>", media.serve, name="media"))

# TEMPORARY: until every module is there
for _prefix, _module in (("account/", "dealsite.accounts.urls"), ("cms/", "cms.urls"), ("", "shopping.urls")):
    if find_spec(_module):
        urlpatterns.append(path(_prefix, include(_module)))
