"""The site map."""

from importlib.util import find_spec

from django.urls import include, path

from config import views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("api/v1/", include("config.api")),
]
for app in ("accounts", "taxonomy", "ingest", "annotation"):
    if find_spec(f"{app}.urls") is not None:
        urlpatterns.append(path("", include(f"{app}.urls")))
if find_spec("annotation.urls") is None:
    urlpatterns.append(path("", views.home, name="home"))

handler404 = "config.views.not_found"
handler403 = "config.views.forbidden"
handler400 = "config.views.unreadable"
handler500 = "config.views.server_error"
