"""Exports: kinds of files that leave a study, their columns, and the job that writes them."""
