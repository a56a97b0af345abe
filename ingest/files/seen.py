"""Seen issues of a file: a compact set that is stored with the run."""

import base64
import struct
import zlib
from collections.abc import Mapping

CHARACTERS_KEPT = 200_000
BLOCK_BITS = 1024

_BLOCK = struct.Struct(f"<q{BLOCK_BITS // 8}s")


class SeenNumbers:
    """Numbers by repository (host, owner, name in lower case); small where they lie close together, as issues do."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[str, str, str], dict[int, int]] = {}

    def add(self, repository: tuple[str, str, str], number: int) -> bool:
        """Whether the number is new."""
        blocks = self._blocks.get(repository)
        if blocks is None:
            blocks = self._blocks[repository] = {}
        block, bit = number // BLOCK_BITS, 1 << (number % BLOCK_BITS)
        bits = blocks.get(block, 0)
        blocks[block] = bits | bit
        return not bits & bit

    def as_json(self) -> dict[str, str] | None:
        """What `from_json` reads back; None where it would be long."""
        kept: dict[str, str] = {}
        n_characters = 0
        for repository, blocks in self._blocks.items():
            content = b"".join(
                [_BLOCK.pack(block, bits.to_bytes(BLOCK_BITS // 8, "little")) for block, bits in blocks.items()]
            )
            text = base64.b64encode(zlib.compress(content, 1)).decode()
            n_characters += len(text)
            if n_characters > CHARACTERS_KEPT:
                return None
            kept["/".join(repository)] = text
        return kept

    @classmethod
    def from_json(cls, kept: Mapping[str, str]) -> "SeenNumbers":
        seen = cls()
        for name, text in kept.items():
            host, owner, repository = name.split("/")
            content = zlib.decompress(base64.b64decode(text))
            blocks = {block: int.from_bytes(bits, "little") for block, bits in _BLOCK.iter_unpack(content)}
            seen._blocks[host, owner, repository] = blocks
        return seen
