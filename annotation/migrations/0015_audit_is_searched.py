"""The audit of a study is found by who, what and of what."""

import django.contrib.postgres.indexes
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0014_life_of_a_study'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['study', 'verb', '-id'], name='audit_by_verb'),
        ),
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['study', 'user', '-id'], name='audit_by_user'),
        ),
        migrations.AddIndex(
            model_name='auditevent',
            index=django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.indexes.OpClass('detail', name='jsonb_path_ops'), name='audit_by_object'),
        ),
    ]
