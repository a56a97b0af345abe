"""Models of taxonomies: versions, dimensions, categories, and changes between versions."""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Case, CharField, Exists, F, OuterRef, Q, Value, When

from accounts.models import User

Ids = models.QuerySet[models.Model, int | None]


@dataclass(frozen=True)
class Circle:
    """Taxonomies that only some people may read though they are published; lists mark them with the word."""

    word: str
    taxonomies: Callable[[], Ids]
    """The ids of all of them, without NULL, as a subquery."""
    of: Callable[[User], Ids]
    """The ids of those that a person may read, and maybe of others; as a subquery."""
    note: Callable[["TaxonomyVersion", User | None, str], None]
    """Notes who published or retired a version (the verb), of whatever taxonomy, where the circle has its log."""


_circles: dict[str, Circle] = {}


def only_for_some(circle: Circle) -> None:
    """Let another app keep taxonomies to its circle, their maintainers and staff."""
    _circles[circle.word] = circle


def note_in_circles(version: "TaxonomyVersion", user: User | None, verb: str) -> None:
    """Has each circle note what became of a version that is its own."""
    for circle in _circles.values():
        circle.note(version, user, verb)


class TaxonomyQuerySet(models.QuerySet["Taxonomy"]):
    """Taxonomies by who may read them."""

    def readable_by(self, user: User) -> "TaxonomyQuerySet":
        """Those of which this person may read at least one version."""
        return self.filter(Exists(TaxonomyVersion.objects.readable_by(user).filter(taxonomy_id=OuterRef("pk"))))

    def marked(self) -> "TaxonomyQuerySet":
        """With `mark`, the word of the circle that a taxonomy belongs to; empty where everybody may read it."""
        cases = [When(pk__in=circle.taxonomies(), then=Value(circle.word)) for circle in _circles.values()]
        return self.annotate(mark=Case(*cases, default=Value(""), output_field=CharField()))


class TaxonomyVersionQuerySet(models.QuerySet["TaxonomyVersion"]):
    """Versions by who may read them."""

    def readable_by(self, user: User) -> "TaxonomyVersionQuerySet":
        """All of the taxonomies this person maintains, and what was published of the others; staff read all.

        Left out is what was published in a circle (`only_for_some`) to which the person does not belong.
        """
        if user.is_staff:
            return self
        maintained = Taxonomy.maintainers.through.objects.filter(taxonomy_id=OuterRef("taxonomy_id"), user_id=user.pk)
        allowed = ~Q(state=TaxonomyVersion.State.DRAFT)
        for circle in _circles.values():
            allowed &= ~Q(taxonomy_id__in=circle.taxonomies()) | Q(taxonomy_id__in=circle.of(user))
        return self.filter(allowed | Exists(maintained))


class Taxonomy(models.Model):
    """A line of versions under one slug; its maintainers write drafts and publish them."""

    slug = models.SlugField(max_length=100, unique=True)
    title = models.CharField(max_length=200, help_text="The title of its newest version.")
    maintainers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="taxonomies", blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    discarded_number = models.PositiveIntegerField(
        default=0, help_text="The highest number of a draft that was discarded; it is not used again."
    )

    objects = TaxonomyQuerySet.as_manager()

    class Meta:
        ordering = ["slug"]
        verbose_name_plural = "taxonomies"

    def __str__(self) -> str:
        return self.slug


class TaxonomyVersion(models.Model):
    """One state of a taxonomy; once published the database refuses every change but its retirement."""

    class State(models.TextChoices):
        DRAFT = "draft"
        PUBLISHED = "published"
        RETIRED = "retired"

    taxonomy = models.ForeignKey(Taxonomy, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    title = models.CharField(max_length=200)
    note = models.TextField(blank=True, help_text="What this version is.")
    stated = ArrayField(
        models.CharField(max_length=20),
        default=list,
        blank=True,
        help_text="Fields that the document wrote out though they hold their default; it goes out as it came in.",
    )
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="children")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    published_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1, help_text="How often the draft was written; who saves names it.")
    edited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    edited_at = models.DateTimeField(null=True, blank=True, help_text="When the draft was written last.")
    retired_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    retired_at = models.DateTimeField(null=True, blank=True)
    unfinished = models.JSONField(
        null=True,
        blank=True,
        help_text="What the editor wrote last of a draft that cannot be published yet; null: the rows are it.",
    )

    objects = TaxonomyVersionQuerySet.as_manager()

    class Meta:
        ordering = ["taxonomy", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["taxonomy", "number"], name="a_version_has_its_own_number"),
            models.CheckConstraint(condition=Q(number__gte=1), name="versions_are_numbered_from_one"),
            models.CheckConstraint(
                condition=Q(state="draft", published_at=None) | ~Q(state="draft") & Q(published_at__isnull=False),
                name="a_version_has_a_publishing_time_unless_it_is_a_draft",
            ),
            models.CheckConstraint(
                condition=Q(state="retired", retired_at__isnull=False) | ~Q(state="retired") & Q(retired_at=None),
                name="only_a_retired_version_has_a_time_of_retirement",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.taxonomy} version {self.number}"

    @property
    def is_draft(self) -> bool:
        return self.state == self.State.DRAFT


class Dimension(models.Model):
    """One question that is asked of an issue."""

    version = models.ForeignKey(TaxonomyVersion, on_delete=models.CASCADE, related_name="dimensions")
    key = models.CharField(max_length=100)
    title = models.CharField(max_length=200)
    kind = models.CharField(max_length=10)
    value_column = models.CharField(
        max_length=10, db_default="", help_text="The column that holds a value, as the kind declares."
    )
    is_set = models.BooleanField(
        db_default=False, help_text="Whether an answer is a set of values, as the kind declares."
    )
    required = models.BooleanField(default=True)
    applies_when = models.JSONField(
        null=True,
        blank=True,
        help_text='Null: always. Otherwise {"dimension": key, "is": [category keys or true, false]}.',
    )
    help = models.TextField(blank=True)
    stated = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ["version", "position"]
        constraints = [
            models.UniqueConstraint(fields=["version", "key"], name="a_dimension_has_its_own_key_in_a_version"),
            models.UniqueConstraint(fields=["id", "version"], name="a_dimension_is_found_with_its_version"),
        ]

    def __str__(self) -> str:
        return self.key


class Category(models.Model):
    """One answer that can be given on a dimension, with what belongs to it and what does not."""

    dimension = models.ForeignKey(Dimension, on_delete=models.CASCADE, related_name="categories")
    key = models.CharField(max_length=100)
    name = models.CharField(max_length=200)
    definition = models.TextField(blank=True)
    include = ArrayField(models.TextField(), default=list, blank=True, help_text="What belongs here.")
    exclude = ArrayField(models.TextField(), default=list, blank=True, help_text="What does not, and where it goes.")
    examples = ArrayField(models.TextField(), default=list, blank=True)
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="children")
    position = models.PositiveIntegerField(help_text="Place in the dimension when the tree is read from the top.")
    shortcut = models.CharField(max_length=1, blank=True, help_text="The key that picks it while labelling.")
    selectable = models.BooleanField(
        default=True, help_text="Whether it can be chosen itself, or only what is below it."
    )
    was = ArrayField(
        models.CharField(max_length=100),
        default=list,
        blank=True,
        help_text="Keys of the version before that it comes from, as its document says; CategoryChange is what counts.",
    )
    stated = ArrayField(models.CharField(max_length=20), default=list, blank=True)

    class Meta:
        ordering = ["dimension", "position"]
        verbose_name_plural = "categories"
        constraints = [
            models.UniqueConstraint(fields=["dimension", "key"], name="a_category_has_its_own_key_in_a_dimension"),
            models.UniqueConstraint(
                fields=["dimension", "parent", "name"],
                name="siblings_have_different_names",
                nulls_distinct=False,
            ),
            models.UniqueConstraint(fields=["dimension", "id"], name="a_category_is_found_with_its_dimension"),
            models.CheckConstraint(condition=~Q(parent=F("id")), name="a_category_is_not_its_own_parent"),
        ]

    def __str__(self) -> str:
        return self.name


class CategoryChange(models.Model):
    """How one category of the version before became one of this version: the only mapping between versions.

    A pair (old, new) has one row; old is null for what was added, new is null for what was retired.
    A merge has several rows with the same new category, a split several with the same old one.
    """

    class Kind(models.TextChoices):
        KEPT = "kept"
        RENAMED = "renamed"
        REDEFINED = "redefined"
        MOVED = "moved"
        MERGED = "merged"
        SPLIT = "split"
        RETIRED = "retired"
        ADDED = "added"

    version = models.ForeignKey(
        TaxonomyVersion, on_delete=models.CASCADE, related_name="changes", help_text="The newer of the two versions."
    )
    kind = models.CharField(max_length=10, choices=Kind.choices)
    also = ArrayField(
        models.CharField(max_length=10),
        default=list,
        blank=True,
        help_text="What else is so of this pair: a merged category may be renamed and redefined, too.",
    )
    old = models.ForeignKey(Category, on_delete=models.PROTECT, null=True, blank=True, related_name="later_changes")
    new = models.ForeignKey(Category, on_delete=models.CASCADE, null=True, blank=True, related_name="earlier_changes")

    class Meta:
        ordering = ["version", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["version", "old", "new"], name="a_pair_of_categories_changes_once", nulls_distinct=False
            ),
            models.CheckConstraint(
                condition=(
                    Q(kind="added", old=None, new__isnull=False)
                    | Q(kind="retired", old__isnull=False, new=None)
                    | ~Q(kind__in=["added", "retired"]) & Q(old__isnull=False, new__isnull=False)
                ),
                name="only_the_added_have_no_past_and_only_the_retired_no_future",
            ),
        ]
