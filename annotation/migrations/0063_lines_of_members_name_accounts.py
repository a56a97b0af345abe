"""Lines of the audit log about members name their account: after a move, others can have the same user name."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("annotation", "0062_third_raters_count"),
    ]

    operations = [
        migrations.AddField(
            model_name="auditevent",
            name="account",
            field=models.ForeignKey(
                db_index=False,
                help_text=(
                    "Of lines about a member: the account. The line has its user name, which others can have elsewhere."
                ),
                null=True,
                on_delete=models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]
