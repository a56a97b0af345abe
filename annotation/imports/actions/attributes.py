"""Attributes of items from a sheet: new ones are stored, existing ones are not replaced."""

from collections.abc import Mapping

from accounts.models import User
from annotation.analysis.queries.attributes import attribute_names
from annotation.imports.queries.ratings import CHUNK, items_by_key, stored_issues
from annotation.imports.sheets import GatheredSheet
from annotation.models import Item, Study

MOST = 50
"""Attributes that an item can have."""


def keep_attributes(
    *, user: User, study: Study, sheet: GatheredSheet, items: Mapping[str, Item]
) -> tuple[int, set[int]]:
    """Writes attributes that items of the study don't have yet; how many, and the ids of all items that were named.

    `items` are those that have answers in the sheet, by key. What contradicts an item's attribute is refused in the
    sheet, and so is a row of a list of items that names none of the study; an answer that was left blank makes no item,
    and what its row says is passed over. A name that the study has in another case is that one.
    """
    others = {key: name for key, name in sheet.named.items() if key not in items}
    issues = stored_issues(user, others.values())
    found = {**items_by_key(study, others, issues), **items}
    names = {name.casefold(): name for name in attribute_names(study)}
    changed, n_kept = [], 0
    for key, told in sheet.attributes.items():
        item = found.get(key)
        if item is None:
            _, row = next(iter(told.values()))
            if row.is_list:
                sheet.refuse(row, f"{sheet.named[key].identifier} is not an item of this study.", row.item)
            continue
        n_new = 0
        for attribute, (text, row) in told.items():
            name = names.setdefault(attribute.casefold(), attribute)
            before = item.attributes.get(name)
            if before is None and len(item.attributes) >= MOST:
                sheet.refuse_attribute(row, key, name, text, f"was not imported: an item has at most {MOST} attributes")
            elif before is None:
                item.attributes[name] = text
                n_new += 1
            elif str(before) != text:
                why = f"was not imported: the value “{before}” exists and is not replaced"
                sheet.refuse_attribute(row, key, name, text, why)
        if n_new:
            changed.append(item)
            n_kept += n_new
    Item.objects.bulk_update(changed, ["attributes"], batch_size=CHUNK)
    return n_kept, {found[key].pk for key in sheet.attributes if key in found}
