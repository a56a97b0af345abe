"""The tables of taxonomies, versions, dimensions, categories and changes."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Dimension",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=100)),
                ("title", models.CharField(max_length=200)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("single", "Single"),
                            ("multi", "Multi"),
                            ("boolean", "Boolean"),
                            ("ordinal", "Ordinal"),
                            ("number", "Number"),
                            ("text", "Text"),
                        ],
                        max_length=10,
                    ),
                ),
                ("required", models.BooleanField(default=True)),
                (
                    "applies_when",
                    models.JSONField(
                        blank=True,
                        help_text='Null: always. Otherwise {"dimension": key, "is": [category keys or true, false]}.',
                        null=True,
                    ),
                ),
                ("help", models.TextField(blank=True)),
                (
                    "stated",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), blank=True, default=list, size=None
                    ),
                ),
                ("position", models.PositiveIntegerField()),
            ],
            options={
                "ordering": ["version", "position"],
            },
        ),
        migrations.CreateModel(
            name="Category",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=100)),
                ("name", models.CharField(max_length=200)),
                ("definition", models.TextField(blank=True)),
                (
                    "include",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        blank=True,
                        default=list,
                        help_text="What belongs here.",
                        size=None,
                    ),
                ),
                (
                    "exclude",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        blank=True,
                        default=list,
                        help_text="What does not, and where it goes.",
                        size=None,
                    ),
                ),
                (
                    "examples",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                (
                    "position",
                    models.PositiveIntegerField(help_text="Place in the dimension when the tree is read from the top."),
                ),
                (
                    "shortcut",
                    models.CharField(blank=True, help_text="The key that picks it while labelling.", max_length=1),
                ),
                (
                    "selectable",
                    models.BooleanField(
                        default=True, help_text="Whether it can be chosen itself, or only what is below it."
                    ),
                ),
                (
                    "was",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=100),
                        blank=True,
                        default=list,
                        help_text="Keys of the version before that it comes from, as its document says; CategoryChange is what counts.",
                        size=None,
                    ),
                ),
                (
                    "stated",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), blank=True, default=list, size=None
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="children",
                        to="taxonomy.category",
                    ),
                ),
                (
                    "dimension",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="categories", to="taxonomy.dimension"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "categories",
                "ordering": ["dimension", "position"],
            },
        ),
        migrations.CreateModel(
            name="Taxonomy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=100, unique=True)),
                ("title", models.CharField(help_text="The title of its newest version.", max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "maintainers",
                    models.ManyToManyField(blank=True, related_name="taxonomies", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "verbose_name_plural": "taxonomies",
                "ordering": ["slug"],
            },
        ),
        migrations.CreateModel(
            name="TaxonomyVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[("draft", "Draft"), ("published", "Published"), ("retired", "Retired")],
                        default="draft",
                        max_length=10,
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                ("note", models.TextField(blank=True, help_text="What this version is.")),
                (
                    "stated",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20),
                        blank=True,
                        default=list,
                        help_text="Fields that the document wrote out though they hold their default; it goes out as it came in.",
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("published_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="children",
                        to="taxonomy.taxonomyversion",
                    ),
                ),
                (
                    "published_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "taxonomy",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="versions", to="taxonomy.taxonomy"
                    ),
                ),
            ],
            options={
                "ordering": ["taxonomy", "-number"],
            },
        ),
        migrations.AddField(
            model_name="dimension",
            name="version",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="dimensions", to="taxonomy.taxonomyversion"
            ),
        ),
        migrations.CreateModel(
            name="CategoryChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("kept", "Kept"),
                            ("renamed", "Renamed"),
                            ("redefined", "Redefined"),
                            ("moved", "Moved"),
                            ("merged", "Merged"),
                            ("split", "Split"),
                            ("retired", "Retired"),
                            ("added", "Added"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "also",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=10),
                        blank=True,
                        default=list,
                        help_text="What else is so of this pair: a merged category may be renamed and redefined, too.",
                        size=None,
                    ),
                ),
                (
                    "new",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="earlier_changes",
                        to="taxonomy.category",
                    ),
                ),
                (
                    "old",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="later_changes",
                        to="taxonomy.category",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        help_text="The newer of the two versions.",
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="changes",
                        to="taxonomy.taxonomyversion",
                    ),
                ),
            ],
            options={
                "ordering": ["version", "id"],
            },
        ),
        migrations.AddConstraint(
            model_name="category",
            constraint=models.UniqueConstraint(
                fields=("dimension", "key"), name="a_category_has_its_own_key_in_a_dimension"
            ),
        ),
        migrations.AddConstraint(
            model_name="category",
            constraint=models.UniqueConstraint(
                fields=("dimension", "parent", "name"), name="siblings_have_different_names", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="category",
            constraint=models.UniqueConstraint(
                fields=("dimension", "id"), name="a_category_is_found_with_its_dimension"
            ),
        ),
        migrations.AddConstraint(
            model_name="category",
            constraint=models.CheckConstraint(
                condition=models.Q(("parent", models.F("id")), _negated=True), name="a_category_is_not_its_own_parent"
            ),
        ),
        migrations.AddConstraint(
            model_name="taxonomyversion",
            constraint=models.UniqueConstraint(fields=("taxonomy", "number"), name="a_version_has_its_own_number"),
        ),
        migrations.AddConstraint(
            model_name="taxonomyversion",
            constraint=models.CheckConstraint(
                condition=models.Q(("number__gte", 1)), name="versions_are_numbered_from_one"
            ),
        ),
        migrations.AddConstraint(
            model_name="taxonomyversion",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("published_at", None), ("state", "draft")),
                    models.Q(models.Q(("state", "draft"), _negated=True), ("published_at__isnull", False)),
                    _connector="OR",
                ),
                name="a_version_has_a_publishing_time_unless_it_is_a_draft",
            ),
        ),
        migrations.AddConstraint(
            model_name="dimension",
            constraint=models.UniqueConstraint(
                fields=("version", "key"), name="a_dimension_has_its_own_key_in_a_version"
            ),
        ),
        migrations.AddConstraint(
            model_name="dimension",
            constraint=models.UniqueConstraint(fields=("id", "version"), name="a_dimension_is_found_with_its_version"),
        ),
        migrations.AddConstraint(
            model_name="categorychange",
            constraint=models.UniqueConstraint(
                fields=("version", "old", "new"), name="a_pair_of_categories_changes_once", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="categorychange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "added"), ("new__isnull", False), ("old", None)),
                    models.Q(("kind", "retired"), ("new", None), ("old__isnull", False)),
                    models.Q(
                        models.Q(("kind__in", ["added", "retired"]), _negated=True),
                        ("new__isnull", False),
                        ("old__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="only_the_added_have_no_past_and_only_the_retired_no_future",
            ),
        ),
    ]
