"""Options of a replication package: its license, and whether texts are included."""

LICENCES = {
    "CC-BY-4.0": ("Creative Commons Attribution 4.0 International", "https://creativecommons.org/licenses/by/4.0/"),
    "CC-BY-SA-4.0": (
        "Creative Commons Attribution-ShareAlike 4.0 International",
        "https://creativecommons.org/licenses/by-sa/4.0/",
    ),
    "CC0-1.0": ("Creative Commons Zero 1.0 Universal", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "ODbL-1.0": ("Open Data Commons Open Database License 1.0", "https://opendatacommons.org/licenses/odbl/1-0/"),
    "none": ("No license is given", ""),
}
"""The licences that an owner can choose from, by SPDX identifier, with title and address."""


TEXTS = {
    "included": "data/issues contains the texts of the issues as they are pinned",
    "referenced": "the package contains the URL of each issue and the SHA-256 of its pinned snapshot",
    "left_out": "the package contains only the IDs of the issues",
}
