"""Document trees: a taxonomy document as the tree of a version, before anything is stored."""

from taxonomy.schema import Document
from taxonomy.tree import TreeCategory, TreeDimension, VersionTree


def tree_of(document: Document) -> VersionTree:
    """The tree of a document that is not stored."""
    dimensions = []
    n_categories = 0
    for position, spec in enumerate(document.dimensions, start=1):
        categories = []
        for category, above in spec.walk():
            n_categories += 1
            way = (*above, category)
            categories.append(
                TreeCategory(
                    id=n_categories,
                    key=category.key,
                    name=category.name,
                    keys=tuple(each.key for each in way),
                    names=tuple(each.name for each in way),
                    position=n_categories,
                    selectable=category.selectable,
                    has_children=bool(category.categories),
                )
            )
        dimensions.append(
            TreeDimension(
                id=position,
                key=spec.key,
                title=spec.title,
                kind=spec.kind,
                required=spec.required,
                applies_when=spec.applies_when,
                help=spec.help,
                position=position,
                categories=tuple(categories),
            )
        )
    return VersionTree(0, document.slug, 0, document.title, document.note, tuple(dimensions))
