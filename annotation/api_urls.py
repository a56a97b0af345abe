"""URLs of the API of studies."""

from django.urls import path

from annotation.agreement_report.api import results
from annotation.analysis.api import analysis
from annotation.calibration import api as calibration_api
from annotation.choosing.api import changes, duplicates, samples
from annotation.discussion import api as discussion_api
from annotation.exports.api import exports, rows
from annotation.imports import api as import_api
from annotation.labeling.api import evidence, labeling, screening
from annotation.members.api import invitations, own_invitations
from annotation.members.api import members as member_api
from annotation.methods import api as method_api
from annotation.plans import api as plan_api
from annotation.proposals import api as proposal_api
from annotation.resolving.api import resolutions, third_raters
from annotation.rounds.api import raters, rounds
from annotation.studies import api as study_api

STUDY = "studies/<slug:slug>/"
ROUND = STUDY + "rounds/<int:number>/"

urlpatterns = [
    path("studies/", study_api.Studies.as_view(), name="api_studies"),
    path(STUDY, study_api.OneStudy.as_view(), name="api_study"),
    path(STUDY + "members/", member_api.Members.as_view(), name="api_members"),
    path(STUDY + "away/", member_api.Absence.as_view(), name="api_absence"),
    path(STUDY + "invitations/", invitations.Invitations.as_view(), name="api_invitations"),
    path(
        STUDY + "invitations/<int:pk>/withdraw/",
        invitations.WithdrawInvitation.as_view(),
        name="api_withdraw_invitation",
    ),
    path("me/invitations/", own_invitations.OwnInvitations.as_view(), name="api_own_invitations"),
    path("me/invitations/<str:key>/accept/", own_invitations.AcceptInvitation.as_view(), name="api_accept_invitation"),
    path(
        "me/invitations/<str:key>/decline/", own_invitations.DeclineInvitation.as_view(), name="api_decline_invitation"
    ),
    path("inbox/", discussion_api.Inbox.as_view(), name="api_inbox"),
    path("inbox/read/", discussion_api.InboxRead.as_view(), name="api_inbox_read"),
    path("selections/", samples.Selections.as_view(), name="api_selections"),
    path("selections/<slug:slug>/fetch/", samples.FetchSelection.as_view(), name="api_fetch_selection"),
    path(STUDY + "samples/", samples.Samples.as_view(), name="api_samples"),
    path(STUDY + "samples/<str:pk>/", samples.OneSample.as_view(), name="api_sample"),
    path(STUDY + "samples/<str:pk>/frame/", samples.FrameOfSample.as_view(), name="api_frame"),
    path(STUDY + "samples/<str:pk>/flow/", samples.FlowOfSample.as_view(), name="api_flow"),
    path(STUDY + "samples/<str:pk>/duplicates/", duplicates.Duplicates.as_view(), name="api_duplicates"),
    path(STUDY + "screening/", samples.Screening.as_view(), name="api_screening"),
    path(STUDY + "rounds/", rounds.Rounds.as_view(), name="api_rounds"),
    path(ROUND, rounds.OneRound.as_view(), name="api_round"),
    path(ROUND + "return-to-draft/", rounds.ReturnToDraft.as_view(), name="api_return_to_draft"),
    path(ROUND + "open/", rounds.OpenRound.as_view(), name="api_open_round"),
    path(ROUND + "resolve/", rounds.ResolveRound.as_view(), name="api_resolve_round"),
    path(ROUND + "close/", rounds.CloseRound.as_view(), name="api_close_round"),
    path(ROUND + "raters/", raters.RoundRaters.as_view(), name="api_round_raters"),
    path(ROUND + "raters/<str:code>/", raters.OneRoundRater.as_view(), name="api_round_rater"),
    path(ROUND + "raters/<str:code>/admit/", raters.AdmitRater.as_view(), name="api_admit_rater"),
    path(ROUND + "raters/<str:code>/withdraw/", raters.WithdrawRater.as_view(), name="api_withdraw_rater"),
    path(ROUND + "training/", calibration_api.TrainingOfRound.as_view(), name="api_training"),
    path(ROUND + "screening/", screening.OwnScreenings.as_view(), name="api_own_screenings"),
    path(STUDY + "keywords/", screening.KeywordsOfRater.as_view(), name="api_keywords"),
    path(ROUND + "next/", labeling.Next.as_view(), name="api_next"),
    path(STUDY + "changes/", rows.ClosingChanges.as_view(), name="api_closing_changes"),
    path(STUDY + "updates/", changes.Changes.as_view(), name="api_updates"),
    path(STUDY + "changes/repin/", changes.Repin.as_view(), name="api_repin"),
    path(STUDY + "changes/check/", changes.CheckOfIssues.as_view(), name="api_check"),
    path(STUDY + "annotations/", labeling.Annotations.as_view(), name="api_annotations"),
    path(STUDY + "ratings/", import_api.Ratings.as_view(), name="api_ratings"),
    path(STUDY + "ratings/imports/<int:number>/", import_api.ImportOfStudy.as_view(), name="api_import"),
    path(STUDY + "evidence/", evidence.EvidenceOfStudy.as_view(), name="api_evidence"),
    path(STUDY + "disagreements/", resolutions.DisagreementsOfStudy.as_view(), name="api_disagreements"),
    path(STUDY + "proposals/", proposal_api.Proposals.as_view(), name="api_proposals"),
    path(STUDY + "proposals/<uuid:pk>/", proposal_api.OneProposal.as_view(), name="api_proposal"),
    path(STUDY + "remarks/", discussion_api.Remarks.as_view(), name="api_remarks"),
    path(STUDY + "resolutions/", resolutions.Resolutions.as_view(), name="api_resolutions"),
    path(STUDY + "matches/", third_raters.Matches.as_view(), name="api_matches"),
    path(
        ROUND + "third-raters/<str:code>/remind/",
        third_raters.RemindThirdRater.as_view(),
        name="api_remind_third_rater",
    ),
    path(
        ROUND + "third-raters/<str:code>/withdraw/",
        third_raters.WithdrawThirdRater.as_view(),
        name="api_withdraw_third_rater",
    ),
    path(STUDY + "third-raters/", third_raters.ThirdRaters.as_view(), name="api_third_raters"),
    path(ROUND + "rules/", third_raters.RulesOfStudy.as_view(), name="api_rules"),
    path(STUDY + "labels/", rows.Labels.as_view(), name="api_labels"),
    path(STUDY + "issues/", rows.IssuesOfStudy.as_view(), name="api_study_issues"),
    path(STUDY + "plans/", plan_api.PlansOfStudy.as_view(), name="api_plans"),
    path(STUDY + "plans/<str:plan_id>/", plan_api.OnePlan.as_view(), name="api_plan"),
    path(STUDY + "plans/<str:plan_id>/items/", plan_api.PlanItems.as_view(), name="api_plan_items"),
    path(STUDY + "plans/<str:plan_id>/run/", plan_api.RunPlan.as_view(), name="api_run_plan"),
    path(STUDY + "plans/<str:plan_id>/undo/", plan_api.UndoPlan.as_view(), name="api_undo_plan"),
    path(STUDY + "exports/", exports.ExportsOfStudy.as_view(), name="api_exports"),
    path("exports/<uuid:pk>/", exports.OneExport.as_view(), name="api_export"),
    path("exports/<uuid:pk>/cancel/", exports.CancelExport.as_view(), name="api_cancel_export"),
    path("exports/<uuid:pk>/download/", exports.DownloadExport.as_view(), name="api_export_download"),
    path(STUDY + "agreement/", results.AgreementOfStudy.as_view(), name="api_agreement"),
    path(STUDY + "analysis/counts/", analysis.CountsOfStudy.as_view(), name="api_counts"),
    path(STUDY + "analysis/shares/", analysis.SharesOfStudy.as_view(), name="api_shares"),
    path(STUDY + "analysis/crosstab/", analysis.CrosstabOfStudy.as_view(), name="api_crosstab"),
    path(STUDY + "analysis/flow/", analysis.FlowOfStudy.as_view(), name="api_flow_of_labels"),
    path(STUDY + "analysis/numbers/", analysis.NumbersOfStudy.as_view(), name="api_numbers"),
    path(STUDY + "analysis/profiles/", analysis.ProfilesOfStudy.as_view(), name="api_profiles"),
    path(STUDY + "analysis/saturation/", analysis.SaturationOfStudy.as_view(), name="api_saturation"),
    path(STUDY + "analysis/combinations/", analysis.CombinationsOfStudy.as_view(), name="api_combinations"),
    path(STUDY + "agreement/methods/", method_api.MethodsOfStudy.as_view(), name="api_methods"),
]
