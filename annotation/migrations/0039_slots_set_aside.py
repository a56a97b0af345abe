"""Slots of excluded items are set aside: their raters have them no more, and get them back with the item."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0038_items_follow_names")]

    operations = [
        migrations.AddField(
            model_name="rounditem",
            name="n_aside",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                editable=False,
                help_text="Of an excluded item, the slots without an answer: nobody holds or takes them meanwhile.",
            ),
        ),
    ]
