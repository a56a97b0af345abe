"""Inbox: lines about work that waits and mentions, never in spite of blindness."""
