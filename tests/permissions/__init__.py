"""Who may ask for what, at every address of the site, as tables (`pages.txt`, `rest.txt`, `methods.txt`).

Each row is an address, each column someone; a cell says how GET and POST are answered, or in `methods.txt` the method
that stands before the address. Rounds are asked about in each state they go through. An address that has no row fails,
and so does a row whose address is gone.
"""
