"""Large tables lose indexes that others already cover: writing a round of 100,000 items fills fewer of them."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

from shared.index_migrations import AddIndexOnLarge, DropForeignKeyIndex


def foreign_key(to: str, **of: object) -> models.ForeignKey:
    return models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to=to, **of)


def rare(to: str) -> models.ForeignKey:
    return foreign_key(to, null=True, blank=True, related_name="+")


def where_set(model: str, field: str, name: str) -> AddIndexOnLarge:
    condition = Q(**{f"{field}__isnull": False})
    return AddIndexOnLarge(model_name=model, index=models.Index(fields=[field], condition=condition, name=name))


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("annotation", "0026_round_labels"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        where_set("assignment", "blind", "assignments_by_blind"),
        where_set("assignment", "current", "assignments_by_current"),
        where_set("item", "screened_by", "items_by_screener"),
        AddIndexOnLarge(
            model_name="item",
            index=models.Index(fields=["study", "screening"], condition=~Q(screening="unscreened"), name="screened_items"),
        ),
        DropForeignKeyIndex("assignment", "blind", rare("annotation.annotation")),
        DropForeignKeyIndex("assignment", "current", rare("annotation.annotation")),
        DropForeignKeyIndex("item", "screened_by", rare(settings.AUTH_USER_MODEL)),
        DropForeignKeyIndex("assignment", "round", foreign_key("annotation.round", related_name="assignments")),
        DropForeignKeyIndex("rounditem", "round", foreign_key("annotation.round", related_name="round_items")),
        DropForeignKeyIndex("item", "study", foreign_key("annotation.study", related_name="items")),
        DropForeignKeyIndex("sampleissue", "sample", foreign_key("annotation.sample", related_name="drawn")),
    ]
