"""URLs of studies."""

from django.urls import path

from annotation.agreement_report.views import agreement as results
from annotation.agreement_report.views import figures
from annotation.analysis import views as analysis
from annotation.calibration import views as calibration
from annotation.choosing.views import changes, duplicates
from annotation.choosing.views import samples as choosing
from annotation.exports.views import exports as exporting
from annotation.imports import views as importing
from annotation.inbox import views as inbox
from annotation.labeling.views import labeling as labelling
from annotation.labeling.views import own_items as own_list
from annotation.labeling.views import screening
from annotation.members.views import invitations, leaving, own_invitations, password_links, reader_links
from annotation.members.views import members as member_pages
from annotation.methods import views as methods
from annotation.overview.views import first_study as starting
from annotation.overview.views import home as studies
from annotation.overview.views import item as item_page
from annotation.overview.views import taxonomy as study_taxonomy
from annotation.overview.views import welcome
from annotation.package import views as package
from annotation.plans import views as plans
from annotation.proposals import views as proposals
from annotation.resolving import views as resolving
from annotation.resolving.views import discussion as discussing
from annotation.rounds.views import raters as giving
from annotation.rounds.views import rounds as round_pages
from annotation.studies.views import audit as auditing
from annotation.studies.views import studies as study_pages
from annotation.studies.views import usage
from annotation.transfer import views as life

STUDY = "studies/<slug:slug>/"
ROUND = STUDY + "rounds/<int:number>/"
PLAN = STUDY + "plans/<int:number>/"

urlpatterns = [
    path("", studies.home, name="home"),
    path("demo/sign-in/", welcome.sign_in_to_demo, name="sign_in_to_demo"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/read/", inbox.read_all, name="read_inbox"),
    path("inbox/<uuid:pk>/", inbox.open_line, name="inbox_line"),
    path("start/", starting.issues, name="start"),
    path("start/codebook/", starting.codebook, name="start_codebook"),
    path(STUDY + "start/people/", starting.people, name="start_people"),
    path(STUDY + "start/round/", starting.first_round, name="start_round"),
    path("studies/", studies.studies, name="studies"),
    path("taxonomies/<slug:slug>/usage/", usage.taxonomy_usage, name="taxonomy_usage"),
    path("studies/new/", study_pages.new_study, name="new_study"),
    path("studies/import/", importing.upload, name="import_study"),
    path("studies/import/<int:pk>/", importing.workbook, name="import_study_file"),
    path("studies/import/<int:pk>/progress/", importing.progress, name="import_study_progress"),
    path("studies/import/<int:pk>/throw-away/", importing.throw_away, name="import_study_throw_away"),
    path("studies/import/<int:pk>/refusals.csv", importing.refusals, name="import_study_refusals"),
    path("studies/import/whole/", life.arrive, name="import_whole"),
    path("studies/import/whole/<int:pk>/", life.arrival, name="import_whole_file"),
    path("studies/import/whole/<int:pk>/progress/", life.arrival_progress, name="import_whole_progress"),
    path("deleted-studies/", life.deleted, name="deleted_studies"),
    path("deleted-studies/<int:pk>/progress/", life.deletion_progress, name="deletion_progress"),
    path("deleted-studies/<int:pk>/continue/", life.continue_deletion, name="continue_deletion"),
    path(STUDY, studies.study, name="study"),
    path(STUDY + "settings/", study_pages.study_settings, name="study_settings"),
    path(STUDY + "duplicate/", life.duplicate, name="duplicate_study"),
    path(STUDY + "archive/", life.archive, name="archive_study"),
    path(STUDY + "unarchive/", life.unarchive, name="unarchive_study"),
    path(STUDY + "export-whole/", life.export_whole, name="export_whole"),
    path(STUDY + "delete/", life.delete, name="delete_study"),
    path(STUDY + "members/", member_pages.members, name="members"),
    path(STUDY + "taxonomy/", study_taxonomy.study_taxonomy, name="study_taxonomy"),
    path(STUDY + "readers/", reader_links.reader_links, name="reader_links"),
    path(STUDY + "readers/<int:number>/withdraw/", reader_links.withdraw_reader_link, name="withdraw_reader_link"),
    path("read/<str:token>/", reader_links.open_reader_link, name="open_reader_link"),
    path(STUDY + "members/<int:pk>/join/", life.join, name="join_member"),
    path(STUDY + "sample/", choosing.samples, name="samples"),
    path(STUDY + "sample/frame/", choosing.frame, name="frame"),
    path(STUDY + "sample/fetch/", choosing.fetch_selection, name="fetch_selection"),
    path(STUDY + "sample/<int:pk>/screen/", choosing.screen_sample, name="screen_sample"),
    path(STUDY + "sample/<int:pk>/duplicates/", duplicates.sample_duplicates, name="sample_duplicates"),
    path(STUDY + "sample/<int:pk>/discard/", choosing.discard_sample, name="discard_sample"),
    path(STUDY + "sample/<int:pk>/frame.<slug:format>", choosing.download_frame, name="download_frame"),
    path(STUDY + "sample/<int:pk>/flow.<slug:format>", choosing.download_flow, name="download_flow"),
    path(STUDY + "items/", choosing.items, name="items"),
    path(STUDY + "items/<int:pk>/screening/", choosing.screen_item, name="screen_item"),
    path(STUDY + "items/<int:pk>/", item_page.item, name="item"),
    path(STUDY + "items/<int:pk>/changes/", changes.item_changes, name="item_changes"),
    path(STUDY + "changes/", changes.changes, name="changes"),
    path(STUDY + "changes/repin/", changes.repin_all, name="repin_all"),
    path(STUDY + "changes/check/", changes.ask_github, name="ask_github"),
    path(STUDY + "proposals/", proposals.proposals, name="proposals"),
    path(STUDY + "proposals/<uuid:pk>/", proposals.proposal, name="proposal"),
    path(STUDY + "audit/", auditing.audit, name="audit"),
    path(STUDY + "audit/audit.<str:format>", auditing.audit_file, name="audit_file"),
    path(STUDY + "rounds/", round_pages.rounds, name="rounds"),
    path(STUDY + "rounds/new/", round_pages.new_round, name="new_round"),
    path(ROUND, round_pages.round_page, name="round"),
    path(ROUND + "open/", round_pages.open_round, name="open_round"),
    path(ROUND + "return-to-draft/", round_pages.return_round_to_draft, name="return_round_to_draft"),
    path(ROUND + "due/", round_pages.set_due_date, name="set_due_date"),
    path(ROUND + "remove/", round_pages.remove_round, name="remove_round"),
    path(ROUND + "training/", calibration.training, name="training"),
    path(ROUND + "training/<int:pk>/remove/", calibration.remove_training, name="remove_training"),
    path(ROUND + "to-resolving/", round_pages.start_resolving, name="start_resolving"),
    path(ROUND + "close/", round_pages.close_round, name="close_round"),
    path(ROUND + "raters/add/", giving.add_rater, name="add_rater"),
    path(ROUND + "raters/<str:code>/admit/", calibration.admit_rater, name="admit_rater"),
    path(ROUND + "raters/<str:code>/withdraw/", giving.withdraw_rater, name="withdraw_rater"),
    path(ROUND + "third-raters/<str:code>/remind/", giving.remind_third_rater, name="remind_third_rater"),
    path(ROUND + "third-raters/<str:code>/withdraw/", giving.withdraw_third_rater, name="withdraw_third_rater"),
    path(ROUND + "raters/<str:code>/quota/", giving.change_quota, name="change_quota"),
    path("me/close/", leaving.close_account, name="close_account"),
    path("me/invitations/<str:key>/accept/", own_invitations.accept, name="accept_own_invitation"),
    path("me/invitations/<str:key>/decline/", own_invitations.decline, name="decline_own_invitation"),
    path("invitations/<str:token>/", invitations.invitation, name="invitation"),
    path(STUDY + "leave/", leaving.leave, name="leave_study"),
    path(STUDY + "members/invite/", invitations.invite, name="invite"),
    path(STUDY + "members/invitations/<int:pk>/withdraw/", invitations.withdraw, name="withdraw_invitation"),
    path(STUDY + "away/", leaving.away, name="away"),
    path(STUDY + "members/<int:pk>/remove/", leaving.remove_member, name="remove_member"),
    path(STUDY + "members/<int:pk>/password-link/", password_links.password_link, name="password_link"),
    path(STUDY + "members/<int:pk>/withdraw/", giving.withdraw_from_study, name="withdraw_from_study"),
    path(ROUND + "label/", labelling.label, name="label"),
    path(ROUND + "label/mine/", own_list.own_list, name="own_list"),
    path(ROUND + "label/mine/counts/", own_list.own_counts, name="own_counts"),
    path(ROUND + "label/before/<int:place>/", own_list.earlier, name="earlier_labels"),
    path(ROUND + "label/of/", own_list.of_item, name="label_of_item"),
    path(ROUND + "label/after/<uuid:pk>/", labelling.label_after, name="label_after"),
    path(ROUND + "label/<uuid:pk>/", labelling.label_one, name="label_one"),
    path(ROUND + "label/<uuid:pk>/draft/", labelling.keep_draft, name="keep_draft"),
    path(ROUND + "screen/", screening.screen, name="screen"),
    path(ROUND + "screen/list/", screening.screen_list, name="screen_list"),
    path(ROUND + "screen/keywords/", screening.screen_keywords, name="screen_keywords"),
    path(ROUND + "screen/<uuid:pk>/", screening.screen_one, name="screen_one"),
    path(ROUND + "resolve/", resolving.queue, name="resolve"),
    path(ROUND + "resolve/<int:pk>/", resolving.resolve_item, name="resolve_item"),
    path(ROUND + "resolve/<int:pk>/third-rater/", resolving.ask, name="ask_third_rater"),
    path(ROUND + "resolve/<int:pk>/match/", resolving.match, name="match_parts"),
    path(ROUND + "rules/", resolving.apply, name="apply_rules"),
    path(ROUND + "resolve/<int:pk>/at-fault/", resolving.fault, name="taxonomy_at_fault"),
    path(ROUND + "resolve/<int:pk>/news/", discussing.news, name="discuss_news"),
    path(ROUND + "resolve/<int:pk>/say/", discussing.say, name="discuss_say"),
    path(ROUND + "resolve/<int:pk>/take/", discussing.take, name="discuss_take"),
    path(ROUND + "discuss/", discussing.items, name="discuss"),
    path(ROUND + "discuss/<int:pk>/", discussing.one, name="discuss_item"),
    path(STUDY + "plans/", plans.plans, name="plans"),
    path(PLAN, plans.plan, name="plan"),
    path(PLAN + "progress/", plans.plan_progress, name="plan_progress"),
    path(PLAN + "recheck/", plans.recheck_plan, name="recheck_plan"),
    path(PLAN + "run/", plans.run_plan, name="run_plan"),
    path(PLAN + "undo/", plans.undo_plan, name="undo_plan"),
    path(PLAN + "items/", plans.plan_items, name="plan_items"),
    path("taxonomies/<slug:slug>/versions/<int:number>/plans/", plans.plans_for_version, name="plans_for_version"),
    path(STUDY + "agreement/", results.agreement, name="agreement"),
    path(STUDY + "agreement/figure/<slug:name>.<slug:format>", figures.agreement_figure, name="agreement_figure"),
    path(STUDY + "agreement/items/", results.agreement_items, name="agreement_items"),
    path(STUDY + "agreement/methods/", methods.methods, name="methods"),
    path(STUDY + "agreement/methods.<slug:format>", methods.download_methods, name="download_methods"),
    path(STUDY + "analysis/", analysis.analyses, name="analyses"),
    path(STUDY + "analysis/<int:number>/", analysis.saved_analysis, name="saved_analysis"),
    path(STUDY + "analysis/<int:number>/remove/", analysis.remove, name="remove_analysis"),
    path(STUDY + "analysis/<slug:kind>/", analysis.analysis_kind, name="analysis_kind"),
    path(STUDY + "analysis/<slug:kind>/save/", analysis.save, name="save_analysis"),
    path(STUDY + "analysis/<slug:kind>/figure/<slug:key>.<slug:format>", analysis.figure, name="analysis_figure"),
    path(STUDY + "analysis/<slug:kind>/table/<slug:key>.<slug:format>", analysis.table, name="analysis_table"),
    path(STUDY + "import/", importing.upload, name="import_into"),
    path(STUDY + "import/<int:pk>/", importing.workbook, name="import_into_file"),
    path(STUDY + "import/<int:pk>/progress/", importing.progress, name="import_into_progress"),
    path(STUDY + "import/<int:pk>/throw-away/", importing.throw_away, name="import_into_throw_away"),
    path(STUDY + "import/<int:pk>/refusals.csv", importing.refusals, name="import_into_refusals"),
    path(STUDY + "exports/", exporting.exports, name="exports"),
    path(STUDY + "exports/package/", package.package, name="package"),
    path(STUDY + "exports/make/", exporting.make_export, name="make_export"),
    path(STUDY + "exports/<int:number>/state/", exporting.export_state, name="export_state"),
    path(STUDY + "exports/<int:number>/download/", exporting.download_export, name="download_export"),
    path(STUDY + "exports/<int:number>/cancel/", exporting.cancel_export, name="cancel_export"),
    path(STUDY + "exports/<int:number>/remove/", exporting.remove_export, name="remove_export"),
    path(STUDY + "exports/<slug:what>.<slug:format>", exporting.download, name="download"),
]
