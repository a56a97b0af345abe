"""Studies over REST: making them, labelling, resolving, and what came out."""

from django.urls import path

from annotation.api import changes, choosing, labelling, plans, proposals, results, studies

STUDY = "studies/<slug:slug>/"
ROUND = STUDY + "rounds/<int:number>/"

urlpatterns = [
    path("studies/", studies.Studies.as_view(), name="api_studies"),
    path(STUDY, studies.OneStudy.as_view(), name="api_study"),
    path(STUDY + "members/", studies.Members.as_view(), name="api_members"),
    path("selections/", choosing.Selections.as_view(), name="api_selections"),
    path("selections/<slug:slug>/fetch/", choosing.FetchSelection.as_view(), name="api_fetch_selection"),
    path(STUDY + "samples/", choosing.Samples.as_view(), name="api_samples"),
    path(STUDY + "samples/<str:pk>/", choosing.OneSample.as_view(), name="api_sample"),
    path(STUDY + "samples/<str:pk>/frame/", choosing.Frame.as_view(), name="api_frame"),
    path(STUDY + "samples/<str:pk>/flow/", choosing.Flow.as_view(), name="api_flow"),
    path(STUDY + "screening/", choosing.Screening.as_view(), name="api_screening"),
    path(STUDY + "rounds/", studies.Rounds.as_view(), name="api_rounds"),
    path(ROUND, studies.OneRound.as_view(), name="api_round"),
    path(ROUND + "open/", studies.OpenRound.as_view(), name="api_open_round"),
    path(ROUND + "resolve/", studies.ResolveRound.as_view(), name="api_resolve_round"),
    path(ROUND + "close/", studies.CloseRound.as_view(), name="api_close_round"),
    path(ROUND + "next/", labelling.Next.as_view(), name="api_next"),
    path(STUDY + "changes/", changes.Changes.as_view(), name="api_changes"),
    path(STUDY + "changes/repin/", changes.Repin.as_view(), name="api_repin"),
    path(STUDY + "changes/check/", changes.Check.as_view(), name="api_check"),
    path(STUDY + "annotations/", labelling.Annotations.as_view(), name="api_annotations"),
    path(STUDY + "ratings/", results.Ratings.as_view(), name="api_ratings"),
    path(STUDY + "disagreements/", results.Disagreements.as_view(), name="api_disagreements"),
    path(STUDY + "proposals/", proposals.Proposals.as_view(), name="api_proposals"),
    path(STUDY + "proposals/<str:pk>/", proposals.OneProposal.as_view(), name="api_proposal"),
    path(STUDY + "resolutions/", results.Resolutions.as_view(), name="api_resolutions"),
    path(STUDY + "labels/", results.Labels.as_view(), name="api_labels"),
    path(STUDY + "issues/", results.Issues.as_view(), name="api_study_issues"),
    path(STUDY + "plans/", plans.Plans.as_view(), name="api_plans"),
    path(STUDY + "plans/<str:plan_id>/", plans.OnePlan.as_view(), name="api_plan"),
    path(STUDY + "plans/<str:plan_id>/items/", plans.PlanItems.as_view(), name="api_plan_items"),
    path(STUDY + "plans/<str:plan_id>/run/", plans.RunPlan.as_view(), name="api_run_plan"),
    path(STUDY + "plans/<str:plan_id>/undo/", plans.UndoPlan.as_view(), name="api_undo_plan"),
    path(STUDY + "agreement/", results.AgreementOfStudy.as_view(), name="api_agreement"),
]
