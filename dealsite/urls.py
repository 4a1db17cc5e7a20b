"""Every address of the site."""

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path

from dealsite.pictures import renditions
from dealsite.web import metrics, readiness

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", readiness.healthz, name="healthz"),
    path("readyz", readiness.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("account/", include("dealsite.accounts.urls")),
    path("account/", include("shopping.my.urls")),
    path("cms/", include("cms.urls")),
    path("", include("shopping.urls")),
]
if not settings.DEALSITE_MEDIA_BUCKET:  # pictures in a bucket are served from there
    urlpatterns.insert(0, path("media/<path:name>", renditions.serve_picture, name="media"))

handler400 = "dealsite.middleware.bad_request"
handler500 = "dealsite.middleware.server_error"
