"""The version before can add people while its tables are already those of this one."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_never_emptied'),
    ]

    operations = [
        migrations.AlterField(
            model_name='user',
            name='keys',
            field=models.JSONField(blank=True, db_default={}, default=dict, help_text='What differs from the usual keys of the labelling page.'),
        ),
        migrations.AlterField(
            model_name='user',
            name='theme',
            field=models.CharField(blank=True, choices=[('system', 'System'), ('light', 'Light'), ('dark', 'Dark')], db_default='', default='', max_length=10),
        ),
    ]
