"""Addresses of repositories, fetches and issues."""

from django.urls import path

from ingest import views

urlpatterns = [
    path("repositories/", views.repositories, name="repositories"),
    path("repositories/fetch/", views.fetch_repository, name="fetch_repository"),
    path("repositories/upload/", views.upload_file, name="upload_file"),
    path("fetches/<int:run_id>/", views.fetch, name="fetch"),
    path("fetches/<int:run_id>/progress/", views.fetch_progress, name="fetch_progress"),
    path("fetches/<int:run_id>/continue/", views.continue_fetch, name="continue_fetch"),
    path("fetches/<int:run_id>/cancel/", views.cancel_fetch, name="cancel_fetch"),
    path("issues/", views.issues, name="issues"),
    path("issues/<str:owner>/<str:name>/<int:number>/", views.issue, name="issue"),
    path("issues/<str:host>/<str:owner>/<str:name>/<int:number>/", views.issue, name="issue"),
]
