"""A comment is one row for each name of its author: what a file calls somebody is no other repository's name for them."""

from django.db import migrations, models

from shared.index_migrations import AddUniqueOnLarge


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("ingest", "0016_search_by_exact_lexemes")]

    operations = [
        AddUniqueOnLarge(
            "comment",
            models.UniqueConstraint(fields=["sha256", "author_login"], name="a_comment_of_a_name_is_stored_once"),
        ),
        migrations.RemoveConstraint("comment", "a_comment_is_stored_once"),
    ]
