"""Issues that are marked as duplicates at GitHub are marked, too: in words alone, the table stays as it is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0046_own_screening")]

    operations = [
        migrations.AlterField(
            model_name="likelyduplicate",
            name="how",
            field=models.CharField(
                choices=[
                    ("github", "closed as a duplicate at GitHub"),
                    ("marked", "marked as a duplicate at GitHub, in its text or in a comment"),
                    ("text", "title and text are alike"),
                ],
                max_length=6,
            ),
        ),
    ]
