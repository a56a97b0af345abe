"""An account that an owner adds to a study is invited; whoever is a member stays one."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0017_unblinded_raters'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='invitationuse',
            name='made_account',
            field=models.BooleanField(db_default=False, default=False, help_text='Whether the account was created by accepting the invitation.'),
        ),
        migrations.AddField(
            model_name='membership',
            name='declined_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='invitation_key',
            field=models.CharField(blank=True, editable=False, help_text='The ID of an invitation that waits for its answer; random.', max_length=32, null=True, unique=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='invited_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='invited_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='membership',
            name='invited_user',
            field=models.ForeignKey(blank=True, help_text='The account that was invited and has not accepted: then `user` is empty, and `name` is as typed.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='invited_memberships', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='membership',
            name='n_invited',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, help_text='How often the account was invited without accepting.'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(fields=('study', 'invited_user'), name='a_user_is_invited_to_a_study_once'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(('invited_user__isnull', True), models.Q(('former_user__isnull', True), ('user__isnull', True)), _connector='OR'), name='an_invited_user_is_no_member'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(('invitation_key__isnull', True), ('invited_user__isnull', False), _connector='OR'), name='an_invitation_has_an_invited_user'),
        ),
    ]
