"""A round notes which answers the rules of its study have seen, and finds newer ones by an index."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):

    dependencies = [("annotation", "0015_audit_is_searched")]

    operations = [
        migrations.AddField(
            model_name="round",
            name="ruled_until",
            field=models.BigIntegerField(
                blank=True, help_text="The newest annotation that the study's rules have seen; null: none.", null=True
            ),
        ),
        # Rounds past their raters were looked at answer by answer so far.
        migrations.RunSQL(
            "UPDATE annotation_round SET ruled_until = (SELECT max(id) FROM annotation_annotation)"
            " WHERE state = 'resolving' AND ruled_at IS NOT NULL",
            migrations.RunSQL.noop,
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(fields=["round", "current"], condition=Q(current__isnull=False), name="answers_by_age"),
        ),
    ]
