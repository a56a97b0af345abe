"""The addresses of studies."""

from django.urls import path

from annotation.views import labelling, resolving, results, studies

STUDY = "studies/<slug:slug>/"
ROUND = STUDY + "rounds/<int:number>/"

urlpatterns = [
    path("", studies.home, name="home"),
    path("studies/", studies.studies, name="studies"),
    path("studies/new/", studies.new_study, name="new_study"),
    path(STUDY, studies.study, name="study"),
    path(STUDY + "settings/", studies.study_settings, name="study_settings"),
    path(STUDY + "members/", studies.members, name="members"),
    path(STUDY + "sample/", studies.samples, name="samples"),
    path(STUDY + "items/", studies.items, name="items"),
    path(STUDY + "items/<int:pk>/", studies.item, name="item"),
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
    path(STUDY + "agreement/", results.agreement, name="agreement"),
    path(STUDY + "agreement/items/", results.agreement_items, name="agreement_items"),
    path(STUDY + "exports/", results.exports, name="exports"),
    path(STUDY + "exports/<slug:what>.<slug:format>", results.download, name="download"),
]
