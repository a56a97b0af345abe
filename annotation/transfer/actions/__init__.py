"""Actions of transfer."""
