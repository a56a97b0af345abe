"""A local GitHub: real HTTP, its shapes, paging and limits, and its faults on demand."""

from tests.github.server import GitHub
from tests.github.world import Issue, Repository, World, made_up

__all__ = ["GitHub", "Issue", "Repository", "World", "made_up"]
