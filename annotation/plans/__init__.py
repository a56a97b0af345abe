"""Plans: migration of a study to another taxonomy version, with a preview, a job, and a relabeling queue.

1. `actions.preview_plan` stores the question. `queries/scope.py` finds the rounds and the routes of their values,
   `category_outcomes.py` the outcome of each category, `queries/relabeling.py` the raters who must relabel, and
   `queries/preview.py` counts. A preview is counted again at each request.
2. `actions.run_plan` locks the study, checks `queries/listing.py`, and queues the plan. A lost message is found by the
   sweep.
3. `jobs.py` works in batches. Each batch is one transaction, which also moves the cursor in the plan's row. Items go
   into the relabeling queue, a round of kind `relabel`, with their raters and the places that are asked.
4. The last batch opens the queue. From now on agreed labels are mapped to the plan's version
   (`labels/queries/label_version.py`, `version_mapping.py`). No rating is rewritten.
5. Raters begin with their earlier answers, mapped (`labeling/queries/earlier_answers.py`). Consensus takes what was
   agreed before as agreed where nothing was asked (`labels/queries/agreed_before.py`).
6. `actions.undo_plan` marks plan and queue as undone, and all readers pass over them. It is possible until the next
   round opens.

A proposal that was accepted into a draft waits for the plan to that version (`annotation/proposals`).
"""
