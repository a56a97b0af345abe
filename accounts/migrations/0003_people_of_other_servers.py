"""People who came along with a study of another server, by the name that they have there."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_sessions_links_and_choices'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='elsewhere',
            field=models.CharField(blank=True, db_default='', help_text='The user name on the server that a study came from.', max_length=150),
        ),
    ]
