"""The app of who labels what, where they differ, what was agreed."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"
