"""Resolving: the resolution queue, resolutions, precedents, meetings, and matching of parts.

1. The last submit moves the round to *resolving* (`assignments/actions/finishing.py`), tells owners and adjudicators,
   and starts the rules job where the study has rules (`assignments/jobs.py`).
2. Rules accept majorities and assign third raters (`assignments/rules.py`). Until a third rater has answered, access
   hides the item from them.
3. The queue (`queries/queue.py`) holds open disagreements by dimension. Raters discuss them (`annotation/discussion`)
   and may append a new revision. The blind answer stays what it was.
4. `actions/part_matches.py` matches parts that raters listed in another order. Answers stay as they are.
5. `actions/resolutions.py` locks the item, compares what the adjudicator saw with the newest revision, and appends a
   resolution. A dimension that depended on it may now be open. Reopening appends a revision without values.
6. Closing the round needs no open disagreement, or a confirmation that some stay open. Then it gives agreed labels,
   until a later closed round has the same items.
"""
