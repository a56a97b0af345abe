"""URLs of the API of studies."""

from django.urls import path

from annotation.agreement_report.api import results
from annotation.analysis.api import analysis
from annotation.calibration import api as calibration
from annotation.choosing.api import changes, duplicates
from annotation.choosing.api import samples as choosing
from annotation.discussion import api as discussing
from annotation.exports.api import exports as exporting
from annotation.exports.api import rows
from annotation.imports import api as importing
from annotation.labeling.api import evidence, screening
from annotation.labeling.api import labeling as labelling
from annotation.members.api import invitations as inviting
from annotation.members.api import members as member_api
from annotation.members.api import own_invitations
from annotation.methods import api as methods
from annotation.plans import api as plans
from annotation.proposals import api as proposals
from annotation.resolving.api import resolutions
from annotation.resolving.api import third_raters as deciding
from annotation.rounds.api import raters as giving
from annotation.rounds.api import rounds as studies
from annotation.studies import api as study_api

STUDY = "studies/<slug:slug>/"
ROUND = STUDY + "rounds/<int:number>/"

urlpatterns = [
    path("studies/", study_api.Studies.as_view(), name="api_studies"),
    path(STUDY, study_api.OneStudy.as_view(), name="api_study"),
    path(STUDY + "members/", member_api.Members.as_view(), name="api_members"),
    path(STUDY + "away/", member_api.Absence.as_view(), name="api_absence"),
    path(STUDY + "invitations/", inviting.Invitations.as_view(), name="api_invitations"),
    path(
        STUDY + "invitations/<int:pk>/withdraw/", inviting.WithdrawInvitation.as_view(), name="api_withdraw_invitation"
    ),
    path("me/invitations/", own_invitations.OwnInvitations.as_view(), name="api_own_invitations"),
    path("me/invitations/<str:key>/accept/", own_invitations.AcceptInvitation.as_view(), name="api_accept_invitation"),
    path(
        "me/invitations/<str:key>/decline/", own_invitations.DeclineInvitation.as_view(), name="api_decline_invitation"
    ),
    path("inbox/", discussing.Inbox.as_view(), name="api_inbox"),
    path("inbox/read/", discussing.InboxRead.as_view(), name="api_inbox_read"),
    path("selections/", choosing.Selections.as_view(), name="api_selections"),
    path("selections/<slug:slug>/fetch/", choosing.FetchSelection.as_view(), name="api_fetch_selection"),
    path(STUDY + "samples/", choosing.Samples.as_view(), name="api_samples"),
    path(STUDY + "samples/<str:pk>/", choosing.OneSample.as_view(), name="api_sample"),
    path(STUDY + "samples/<str:pk>/frame/", choosing.FrameOfSample.as_view(), name="api_frame"),
    path(STUDY + "samples/<str:pk>/flow/", choosing.FlowOfSample.as_view(), name="api_flow"),
    path(STUDY + "samples/<str:pk>/duplicates/", duplicates.Duplicates.as_view(), name="api_duplicates"),
    path(STUDY + "screening/", choosing.Screening.as_view(), name="api_screening"),
    path(STUDY + "rounds/", studies.Rounds.as_view(), name="api_rounds"),
    path(ROUND, studies.OneRound.as_view(), name="api_round"),
    path(ROUND + "return-to-draft/", studies.ReturnToDraft.as_view(), name="api_return_to_draft"),
    path(ROUND + "open/", studies.OpenRound.as_view(), name="api_open_round"),
    path(ROUND + "resolve/", studies.ResolveRound.as_view(), name="api_resolve_round"),
    path(ROUND + "close/", studies.CloseRound.as_view(), name="api_close_round"),
    path(ROUND + "raters/", giving.RoundRaters.as_view(), name="api_round_raters"),
    path(ROUND + "raters/<str:code>/", giving.OneRoundRater.as_view(), name="api_round_rater"),
    path(ROUND + "raters/<str:code>/admit/", giving.AdmitRater.as_view(), name="api_admit_rater"),
    path(ROUND + "raters/<str:code>/withdraw/", giving.WithdrawRater.as_view(), name="api_withdraw_rater"),
    path(ROUND + "training/", calibration.TrainingOfRound.as_view(), name="api_training"),
    path(ROUND + "screening/", screening.OwnScreenings.as_view(), name="api_own_screenings"),
    path(STUDY + "keywords/", screening.KeywordsOfRater.as_view(), name="api_keywords"),
    path(ROUND + "next/", labelling.Next.as_view(), name="api_next"),
    path(STUDY + "changes/", rows.ClosingChanges.as_view(), name="api_closing_changes"),
    path(STUDY + "updates/", changes.Changes.as_view(), name="api_updates"),
    path(STUDY + "changes/repin/", changes.Repin.as_view(), name="api_repin"),
    path(STUDY + "changes/check/", changes.CheckOfIssues.as_view(), name="api_check"),
    path(STUDY + "annotations/", labelling.Annotations.as_view(), name="api_annotations"),
    path(STUDY + "ratings/", importing.Ratings.as_view(), name="api_ratings"),
    path(STUDY + "ratings/imports/<int:number>/", importing.ImportOfStudy.as_view(), name="api_import"),
    path(STUDY + "evidence/", evidence.EvidenceOfStudy.as_view(), name="api_evidence"),
    path(STUDY + "disagreements/", resolutions.DisagreementsOfStudy.as_view(), name="api_disagreements"),
    path(STUDY + "proposals/", proposals.Proposals.as_view(), name="api_proposals"),
    path(STUDY + "proposals/<uuid:pk>/", proposals.OneProposal.as_view(), name="api_proposal"),
    path(STUDY + "remarks/", discussing.Remarks.as_view(), name="api_remarks"),
    path(STUDY + "resolutions/", resolutions.Resolutions.as_view(), name="api_resolutions"),
    path(STUDY + "matches/", deciding.Matches.as_view(), name="api_matches"),
    path(ROUND + "third-raters/<str:code>/remind/", deciding.RemindThirdRater.as_view(), name="api_remind_third_rater"),
    path(
        ROUND + "third-raters/<str:code>/withdraw/",
        deciding.WithdrawThirdRater.as_view(),
        name="api_withdraw_third_rater",
    ),
    path(STUDY + "third-raters/", deciding.ThirdRaters.as_view(), name="api_third_raters"),
    path(ROUND + "rules/", deciding.RulesOfStudy.as_view(), name="api_rules"),
    path(STUDY + "labels/", rows.Labels.as_view(), name="api_labels"),
    path(STUDY + "issues/", rows.IssuesOfStudy.as_view(), name="api_study_issues"),
    path(STUDY + "plans/", plans.PlansOfStudy.as_view(), name="api_plans"),
    path(STUDY + "plans/<str:plan_id>/", plans.OnePlan.as_view(), name="api_plan"),
    path(STUDY + "plans/<str:plan_id>/items/", plans.PlanItems.as_view(), name="api_plan_items"),
    path(STUDY + "plans/<str:plan_id>/run/", plans.RunPlan.as_view(), name="api_run_plan"),
    path(STUDY + "plans/<str:plan_id>/undo/", plans.UndoPlan.as_view(), name="api_undo_plan"),
    path(STUDY + "exports/", exporting.ExportsOfStudy.as_view(), name="api_exports"),
    path("exports/<uuid:pk>/", exporting.OneExport.as_view(), name="api_export"),
    path("exports/<uuid:pk>/cancel/", exporting.CancelExport.as_view(), name="api_cancel_export"),
    path("exports/<uuid:pk>/download/", exporting.DownloadExport.as_view(), name="api_export_download"),
    path(STUDY + "agreement/", results.AgreementOfStudy.as_view(), name="api_agreement"),
    path(STUDY + "analysis/counts/", analysis.CountsOfStudy.as_view(), name="api_counts"),
    path(STUDY + "analysis/shares/", analysis.SharesOfStudy.as_view(), name="api_shares"),
    path(STUDY + "analysis/crosstab/", analysis.CrosstabOfStudy.as_view(), name="api_crosstab"),
    path(STUDY + "analysis/flow/", analysis.FlowOfStudy.as_view(), name="api_flow_of_labels"),
    path(STUDY + "analysis/numbers/", analysis.NumbersOfStudy.as_view(), name="api_numbers"),
    path(STUDY + "analysis/profiles/", analysis.ProfilesOfStudy.as_view(), name="api_profiles"),
    path(STUDY + "analysis/saturation/", analysis.SaturationOfStudy.as_view(), name="api_saturation"),
    path(STUDY + "analysis/combinations/", analysis.CombinationsOfStudy.as_view(), name="api_combinations"),
    path(STUDY + "agreement/methods/", methods.MethodsOfStudy.as_view(), name="api_methods"),
]
