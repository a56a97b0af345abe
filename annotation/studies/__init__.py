"""Studies: creation, settings, registered coefficients, archive, and audit log."""
