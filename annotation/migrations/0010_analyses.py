"""Analyses that are kept with a study."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0009_exports"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Analysis',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('title', models.CharField(max_length=200)),
                ('kind', models.CharField(help_text='counts, crosstab, flow, numbers …: the page it is asked on.', max_length=20)),
                ('question', models.JSONField(default=dict, help_text='The words of its address, with their values.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='analyses', to='annotation.study')),
            ],
            options={
                'verbose_name_plural': 'analyses',
                'ordering': ['number'],
                'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='an_analysis_number_is_used_once_in_a_study')],
            },
        ),
    ]
