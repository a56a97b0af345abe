"""Search of issues: words, phrases, and GitHub's qualifiers.

`grammar.py` reads what was typed, `matching.py` has the rule for words and phrases. Stored texts are folded, with marks
where words begin and end, so the rule is a substring in SQL (`conditions.py`). A GIN index over lexemes selects
candidates. Of single words lexemes decide, of everything else the substring. `indexing.py` fills the index from a
queue. Until then texts are compared directly.
"""
