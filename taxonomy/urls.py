"""Addresses of the pages of taxonomies."""

from django.urls import path

from taxonomy import views

urlpatterns = [
    path("taxonomies/", views.taxonomies, name="taxonomies"),
    path("taxonomies/<slug:slug>/", views.taxonomy, name="taxonomy"),
    path("taxonomies/<slug:slug>/versions/<int:number>/", views.taxonomy_version, name="taxonomy_version"),
    path(
        "taxonomies/<slug:slug>/versions/<int:number>/publish/",
        views.publish_taxonomy_version,
        name="publish_taxonomy_version",
    ),
    path(
        "taxonomies/<slug:slug>/versions/<int:number>/document.yaml", views.taxonomy_document, name="taxonomy_document"
    ),
    path("taxonomies/<slug:slug>/diff/<int:old>..<int:new>/", views.taxonomy_diff, name="taxonomy_diff"),
]
