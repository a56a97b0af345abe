"""Browser names: a User-Agent header as people call the browser."""

BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def browser_named(agent: str) -> str:
    """“Firefox on Linux”, from what a browser says of itself; nothing hangs on it."""
    browser = next((name for mark, name in BROWSERS if mark in agent), "")
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    if not (browser or system):
        return agent.partition(" ")[0][:40] or "a browser"
    return f"{browser or 'a browser'} on {system}" if system else browser
