"""Invitations to studies, by link and of existing accounts."""
