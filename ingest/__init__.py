"""Ingest: issues from GitHub, files, and webhooks, stored as snapshots; their rendering, search, and filters.

A fetch:
1. A page, `POST /fetches/`, or `manage.py fetch` calls `actions/fetches.py`: a queued run, and after the commit a
   message with its ID. The sweep finds a run whose message was lost.
2. `runs.py` claims the run on the base of all jobs. One run of a repository works at a time. Every later write is
   fenced by the number of the claim.
3. `github/fetch.py` finds the repository under its present name (`github/run_state.py`), then reads by GraphQL with a
   token (`github/graphql.py`), otherwise by REST listings (`github/listings.py`). Each page is one transaction:
   records, cursor, counts.
4. A limit or an odd answer makes the run wait: its row has the time, and the worker is free. An error that time can't
   cure ends it.
5. At the end `complete_until` and the validators of the next fetch are stored in one transaction, totals are counted,
   and `search/indexing.py` follows.

Files (`actions/uploads.py`) and webhook messages (`actions/deliveries.py`) are runs, too, and continue at 2.
"""
