"""Public IDs: the base of rows that URLs and answers name by ID."""

from shared.public_ids import public_id, row_number_of


class Public:
    """A model whose rows have public ids: see `shared.public_ids`."""

    pk: int

    @classmethod
    def public_id_of(cls, number: int) -> str:
        """The public id of the row with this number."""
        return public_id(cls.__name__.lower(), number)

    @classmethod
    def number_of(cls, identifier: object) -> int | None:
        """The number of the row with this public id; None for what can't be one."""
        return row_number_of(cls.__name__.lower(), identifier)

    @property
    def public_id(self) -> str:
        """What addresses, answers and forms call this row."""
        return self.public_id_of(self.pk)
