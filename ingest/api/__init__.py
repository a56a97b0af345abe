"""Repositories, fetches, issues and GitHub's messages over REST."""

from django.urls import path

from ingest.api import fetches, issues, repositories, webhooks

ISSUE = "issues/<str:owner>/<str:name>/<int:number>/"
ISSUE_ELSEWHERE = "issues/<str:host>/<str:owner>/<str:name>/<int:number>/"

urlpatterns = [
    path("webhooks/github/", webhooks.Messages.as_view()),
    path("fetches/", fetches.Fetches.as_view()),
    path("fetches/estimate/", fetches.EstimateFetch.as_view()),
    path("fetches/<int:run_id>/", fetches.OneFetch.as_view()),
    path("fetches/<int:run_id>/refusals/", fetches.Refusals.as_view()),
    path("fetches/<int:run_id>/continue/", fetches.ContinueFetch.as_view()),
    path("fetches/<int:run_id>/cancel/", fetches.CancelFetch.as_view()),
    path("issues/", issues.Issues.as_view()),
    path(ISSUE, issues.OneIssue.as_view()),
    path(ISSUE + "snapshots/<str:sha256>/", issues.OneSnapshot.as_view()),
    path(ISSUE_ELSEWHERE, issues.IssueOfAnotherHost.as_view()),
    path(ISSUE_ELSEWHERE + "snapshots/<str:sha256>/", issues.SnapshotOfAnotherHost.as_view()),
    path("repositories/", repositories.Repositories.as_view()),
    path("repositories/<str:owner>/<str:name>/", repositories.OneRepository.as_view()),
    path("repositories/<str:host>/<str:owner>/<str:name>/", repositories.RepositoryOfAnotherHost.as_view()),
]
