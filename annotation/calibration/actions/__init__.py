"""Actions of calibration."""
