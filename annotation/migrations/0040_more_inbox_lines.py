"""Raters are told that they are let in below or after a minimum, and third raters that somebody waits for them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0039_slots_set_aside")]

    operations = [
        migrations.AlterField(
            model_name="inboxline",
            name="kind",
            field=models.CharField(
                choices=[
                    ("mention", "somebody mentioned you"),
                    ("round", "a round was opened in which you rate"),
                    ("arbiter", "you are asked as a third rater"),
                    ("reminder", "your answers as a third rater are waited for"),
                    ("given", "items of somebody who left came to you"),
                    ("admitted", "you get the items of a round that has a minimum on training items"),
                    ("resolving", "a round waits for decisions"),
                ],
                max_length=10,
            ),
        ),
    ]
