"""Calibration: training items, the minimum for raters, and the gate before a main round."""
