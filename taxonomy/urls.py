"""URLs of the taxonomy pages."""

from django.urls import path

from taxonomy.views import editor
from taxonomy.views import taxonomies as views

urlpatterns = [
    path("taxonomies/", views.taxonomies, name="taxonomies"),
    path("new-taxonomy/", views.create_taxonomy, name="create_taxonomy"),
    path("taxonomies/<slug:slug>/", views.taxonomy, name="taxonomy"),
    path("taxonomies/<slug:slug>/versions/<int:number>/", views.taxonomy_version, name="taxonomy_version"),
    path(
        "taxonomies/<slug:slug>/versions/<int:number>/edit/",
        editor.edit_taxonomy_version,
        name="edit_taxonomy_version",
    ),
    path(
        "taxonomies/<slug:slug>/versions/<int:number>/edit/state/",
        editor.taxonomy_draft_state,
        name="taxonomy_draft_state",
    ),
    path(
        "taxonomies/<slug:slug>/versions/<int:number>/edit/copy/",
        editor.copy_taxonomy_draft,
        name="copy_taxonomy_draft",
    ),
    path(
        "taxonomies/<slug:slug>/versions/<int:number>/publish/",
        views.publish_taxonomy_version,
        name="publish_taxonomy_version",
    ),
    path(
        "taxonomies/<slug:slug>/versions/<int:number>/document.yaml", views.taxonomy_document, name="taxonomy_document"
    ),
    path("taxonomies/<slug:slug>/drafts/", views.start_taxonomy_draft, name="start_taxonomy_draft"),
    path(
        "taxonomies/<slug:slug>/versions/<int:number>/discard/",
        views.discard_taxonomy_draft,
        name="discard_taxonomy_draft",
    ),
    path(
        "taxonomies/<slug:slug>/versions/<int:number>/retire/",
        views.retire_taxonomy_version,
        name="retire_taxonomy_version",
    ),
    path("taxonomies/<slug:slug>/diff/", views.compare_taxonomy_versions, name="compare_taxonomy_versions"),
    path("taxonomies/<slug:slug>/diff/<int:old>..<int:new>/", views.taxonomy_diff, name="taxonomy_diff"),
    path(
        "taxonomies/<slug:slug>/diff/<int:old>..<int:new>/appendix.md",
        views.taxonomy_appendix,
        name="taxonomy_appendix",
    ),
]
