"""What a search for duplicates found is seen by those who may read the compared states.

Rows of earlier searches are null there, and seen by those who may see the repository.
"""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0052_skipped_by_rater")]

    operations = [
        migrations.AddField(
            model_name="likelyduplicate",
            name="snapshot",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                help_text="The state that was compared: who may not read it sees nothing of the row. Where it is null, "
                "whoever may not see the repository does not.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="ingest.snapshot",
            ),
        ),
    ]
