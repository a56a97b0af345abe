"""Connections to providers of sign-in belong to the address that the settings name now."""

from typing import Any

from django.db import migrations

from accounts.identities import identity


def bind(apps: Any, schema_editor: Any) -> None:
    """An identifier that leaves no room for the address signs nobody in any more; its person connects again."""
    accounts = apps.get_model("socialaccount", "SocialAccount")
    longest = accounts._meta.get_field("uid").max_length
    for account in accounts.objects.all().iterator():
        uid = identity(account.provider, account.uid)
        if len(uid) <= longest:
            accounts.objects.filter(pk=account.pk).update(uid=uid)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0011_links_to_former_addresses"),
        ("socialaccount", "0006_alter_socialaccount_extra_data"),
    ]

    operations = [migrations.RunPython(bind, migrations.RunPython.noop)]
