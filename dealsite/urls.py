"""Every address of the site."""

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path

from dealsite.metrics import page
from dealsite.pictures import media
from dealsite.web import readiness

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", readiness.healthz, name="healthz"),
    path("readyz", readiness.readyz, name="readyz"),
    path("metrics", page.metrics, name="metrics"),
    path("account/", include("dealsite.accounts.urls")),
    path("account/", include("shopping.my.urls")),
    path("cms/", include("cms.urls")),
    path("", include("shopping.urls")),
]
if not settings.DEALSITE_MEDIA_BUCKET:  # pictures in a bucket are served from there
    urlpatterns.insert(0, path("media/<path:name>", media.serve, name="media"))

handler400 = "dealsite.middleware.bad_request"
handler500 = "dealsite.middleware.server_error"
