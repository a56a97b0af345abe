"""URLs of the site."""

from django.urls import include, path

from config import help_views, metrics, operator_views, views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("help/", help_views.help_index, name="help"),
    path("help/pictures/<slug:name>.png", help_views.guide_picture, name="guide_picture"),
    path("help/<slug:name>/", help_views.one_guide, name="guide"),
    path("operations/", operator_views.operations, name="operations"),
    path("operations/audit/", operator_views.server_audit, name="server_audit"),
    path("operations/audit/audit.<str:format>", operator_views.server_audit_file, name="server_audit_file"),
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
