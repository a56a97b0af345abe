"""URLs of repositories, fetches, and issues."""

from django.urls import path

from ingest.views import fetches, images, issues, repositories, uploads

urlpatterns = [
    path("repositories/", repositories.repositories, name="repositories"),
    path("repositories/fetch/", repositories.fetch_repository, name="fetch_repository"),
    path("repositories/upload/", repositories.upload_file, name="upload_file"),
    path("repositories/visibility/", repositories.change_visibility, name="change_visibility"),
    path("repositories/<str:owner>/<str:name>/", repositories.repository, name="repository"),
    path("repositories/<str:host>/<str:owner>/<str:name>/", repositories.repository, name="repository"),
    path("fetches/<int:run_id>/", fetches.fetch, name="fetch"),
    path("fetches/<int:run_id>/refusals.csv", uploads.refusals, name="refusals"),
    path("fetches/<int:run_id>/progress/", fetches.fetch_progress, name="fetch_progress"),
    path("fetches/<int:run_id>/continue/", fetches.continue_fetch, name="continue_fetch"),
    path("fetches/<int:run_id>/cancel/", fetches.cancel_fetch, name="cancel_fetch"),
    path("uploads/<int:upload_id>/", uploads.upload, name="upload"),
    path("uploads/<int:upload_id>/columns/", uploads.columns, name="upload_columns"),
    path("uploads/<int:upload_id>/sheet/", uploads.choose_sheet, name="upload_sheet"),
    path("uploads/<int:upload_id>/throw-away/", uploads.throw_away, name="throw_away_upload"),
    path("images/", images.image, name="image"),
    path("issues/", issues.issues, name="issues"),
    path("issues/<str:owner>/<str:name>/<int:number>/", issues.issue, name="issue"),
    path("issues/<str:host>/<str:owner>/<str:name>/<int:number>/", issues.issue, name="issue"),
    path("issues/<str:owner>/<str:name>/<int:number>/comments/", issues.issue_comments, name="issue_comments"),
    path(
        "issues/<str:host>/<str:owner>/<str:name>/<int:number>/comments/", issues.issue_comments, name="issue_comments"
    ),
]
