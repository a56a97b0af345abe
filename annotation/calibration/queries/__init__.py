"""Queries of calibration."""
