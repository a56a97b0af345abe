"""The addresses of studies."""

from django.urls import path

from annotation.views import changes, choosing, labelling, plans, proposals, resolving, results, studies, usage

STUDY = "studies/<slug:slug>/"
ROUND = STUDY + "rounds/<int:number>/"
PLAN = STUDY + "plans/<int:number>/"

urlpatterns = [
    path("", studies.home, name="home"),
    path("studies/", studies.studies, name="studies"),
    path("taxonomies/<slug:slug>/usage/", usage.taxonomy_usage, name="taxonomy_usage"),
    path("studies/new/", studies.new_study, name="new_study"),
    path(STUDY, studies.study, name="study"),
    path(STUDY + "settings/", studies.study_settings, name="study_settings"),
    path(STUDY + "members/", studies.members, name="members"),
    path(STUDY + "sample/", choosing.samples, name="samples"),
    path(STUDY + "sample/frame/", choosing.frame, name="frame"),
    path(STUDY + "sample/fetch/", choosing.fetch_selection, name="fetch_selection"),
    path(STUDY + "sample/<int:pk>/screen/", choosing.screen_sample, name="screen_sample"),
    path(STUDY + "sample/<int:pk>/frame.<slug:format>", choosing.download_frame, name="download_frame"),
    path(STUDY + "sample/<int:pk>/flow.<slug:format>", choosing.download_flow, name="download_flow"),
    path(STUDY + "items/", choosing.items, name="items"),
    path(STUDY + "items/<int:pk>/screening/", choosing.screen_item, name="screen_item"),
    path(STUDY + "items/<int:pk>/", studies.item, name="item"),
    path(STUDY + "items/<int:pk>/changes/", changes.item_changes, name="item_changes"),
    path(STUDY + "changes/", changes.changes, name="changes"),
    path(STUDY + "changes/repin/", changes.repin_all, name="repin_all"),
    path(STUDY + "changes/check/", changes.ask_github, name="ask_github"),
    path(STUDY + "proposals/", proposals.proposals, name="proposals"),
    path(STUDY + "proposals/<int:pk>/", proposals.proposal, name="proposal"),
    path(STUDY + "audit/", studies.audit, name="audit"),
    path(STUDY + "rounds/", studies.rounds, name="rounds"),
    path(STUDY + "rounds/new/", studies.new_round, name="new_round"),
    path(ROUND, studies.round_page, name="round"),
    path(ROUND + "open/", studies.open_round, name="open_round"),
    path(ROUND + "to-resolving/", studies.start_resolving, name="start_resolving"),
    path(ROUND + "close/", studies.close_round, name="close_round"),
    path(ROUND + "label/", labelling.label, name="label"),
    path(ROUND + "label/before/<int:place>/", labelling.earlier, name="earlier_labels"),
    path(ROUND + "label/<int:pk>/", labelling.label_one, name="label_one"),
    path(ROUND + "label/<int:pk>/draft/", labelling.keep_draft, name="keep_draft"),
    path(ROUND + "resolve/", resolving.queue, name="resolve"),
    path(ROUND + "resolve/<int:pk>/", resolving.resolve_item, name="resolve_item"),
    path(STUDY + "plans/", plans.plans, name="plans"),
    path(PLAN, plans.plan, name="plan"),
    path(PLAN + "progress/", plans.plan_progress, name="plan_progress"),
    path(PLAN + "recheck/", plans.recheck_plan, name="recheck_plan"),
    path(PLAN + "run/", plans.run_plan, name="run_plan"),
    path(PLAN + "undo/", plans.undo_plan, name="undo_plan"),
    path(PLAN + "items/", plans.plan_items, name="plan_items"),
    path("taxonomies/<slug:slug>/versions/<int:number>/plans/", plans.plans_for_version, name="plans_for_version"),
    path(STUDY + "agreement/", results.agreement, name="agreement"),
    path(STUDY + "agreement/items/", results.agreement_items, name="agreement_items"),
    path(STUDY + "exports/", results.exports, name="exports"),
    path(STUDY + "exports/<slug:what>.<slug:format>", results.download, name="download"),
]
