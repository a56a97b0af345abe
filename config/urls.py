"""The site map."""

from django.urls import include, path

from config import views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("api/v1/", include("config.api")),
    path("", include("accounts.urls")),
    path("", include("taxonomy.urls")),
    path("", include("ingest.urls")),
    path("", include("annotation.urls")),
]

handler404 = "config.views.not_found"
handler403 = "config.views.forbidden"
handler400 = "config.views.unreadable"
handler500 = "config.views.server_error"
