"""Labeling: the labeling page, the next item, submits, skips, drafts, and the screening pane.

A page keeps an answer with its idempotency key until the server has answered (`submitting.js`, `outbox.js`).
`actions/answers.py` stores it as a revision, `actions/next_item.py` finds the next assignment, and `queries/desk.py`
reads all that the page shows of it. A submit costs a fixed number of queries, which a test counts.
"""
