"""REST views of repositories, fetches, issues, and webhook deliveries."""

from django.urls import path

from ingest.api import fetches, files, issues, repositories, webhooks

ISSUE = "issues/<str:owner>/<str:name>/<int:number>/"
REPOSITORY = "repositories/<str:owner>/<str:name>/"
REPOSITORY_ELSEWHERE = "repositories/<str:host>/<str:owner>/<str:name>/"
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
    path("issues/suggestions/", issues.SearchSuggestions.as_view(), name="api_search_suggestions"),
    path(ISSUE, issues.OneIssue.as_view()),
    path(ISSUE + "snapshots/<str:sha256>/", issues.OneSnapshot.as_view()),
    path(ISSUE_ELSEWHERE, issues.IssueOfAnotherHost.as_view()),
    path(ISSUE_ELSEWHERE + "snapshots/<str:sha256>/", issues.SnapshotOfAnotherHost.as_view()),
    path("repositories/", repositories.Repositories.as_view()),
    path(REPOSITORY, repositories.OneRepository.as_view()),
    path(REPOSITORY + "issues/", files.IssuesOfRepository.as_view()),
    path(REPOSITORY + "comments/", files.CommentsOfRepository.as_view()),
    path(REPOSITORY + "changes/", files.ChangesOfRepository.as_view()),
    path(REPOSITORY_ELSEWHERE, repositories.RepositoryOfAnotherHost.as_view()),
    path(REPOSITORY_ELSEWHERE + "issues/", files.IssuesOfAnotherHost.as_view()),
    path(REPOSITORY_ELSEWHERE + "comments/", files.CommentsOfAnotherHost.as_view()),
    path(REPOSITORY_ELSEWHERE + "changes/", files.ChangesOfAnotherHost.as_view()),
]
