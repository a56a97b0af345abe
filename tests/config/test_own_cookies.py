"""Links in texts that would hand a session to another program of this machine: cookies know no port."""

import pytest
from django.test import override_settings

from ingest.rendering import images, markdown
from ingest.templatetags.issues import web_address
from shared.addresses import gets_our_cookies

HERE = [
    "http://127.0.0.1:9977/x", "http://localhost:1/", "https://127.1/", "http://2130706433/", "http://0x7f.1:9/",
    "http://[::1]:8000/", "http://[::ffff:127.0.0.1]/", "http://a.localhost/", "http://user@127.0.0.1:9/",
    "http:///127.0.0.1:9/", "http:\\\\127.0.0.1:9/", "http://127.0.0.1.:9/", "http://%31%32%37.0.0.1/",
    "http://\uff11\uff12\uff17.0.0.1/", "http://local\thost:9/", "http://0.0.0.0:9/", "HTTP://LOCALHOST/",
    "http://127\u30020\u30020\u30021:9/", "http://127.0.0.\u00ad1:9/", "http://local\u200bhost:9/", "http://127\uff610.0.1/",
    "http://127.0.0.1\ufe0f:9/", "http://www.concord.example.org:9/", "http://127.0.0.1:99999999/", "http://[::1", "https://concord.example.org:9443/",
]  # fmt: skip
ELSEWHERE = [
    "https://github.com/o/r", "https://concord.example.org/studies/", "http://10.0.0.1/", "https://localhost.example/",
    "https://127.example/", "mailto:a@localhost", "https://b\u00fccher.example/",
]  # fmt: skip


@pytest.fixture(autouse=True)
def site(settings: object) -> object:
    with override_settings(SITE_URL="https://concord.example.org", ALLOWED_HOSTS=["www.concord.example.org"]):
        yield


@pytest.mark.parametrize("address", HERE)
def test_no_text_links_to_another_program_of_this_machine(address: str) -> None:
    assert gets_our_cookies(address)
    assert not web_address(address) and not images.sources_of(address)
    html = str(markdown.render_markdown(f'<a href="{address}">the log</a>\n\n[the log](<{address}>)', "o/r"))
    assert "href" not in html and html.count("the log") >= 1


@pytest.mark.parametrize("address", ELSEWHERE)
def test_other_links_stay(address: str) -> None:
    assert not gets_our_cookies(address)
    assert "href" in str(markdown.render_markdown(f"[the log](<{address}>)", "o/r"))


def test_a_site_on_loopback_links_to_itself() -> None:
    with override_settings(SITE_URL="http://127.0.0.1:8000"):
        assert not gets_our_cookies("http://127.0.0.1:8000/studies/") and gets_our_cookies("http://127.0.0.1:8001/")
