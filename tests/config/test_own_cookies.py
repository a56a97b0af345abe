"""Links in texts that would hand a session to another program: cookies know no port."""

import pytest
from django.test import override_settings

from ingest.rendering import images, markdown
from ingest.templatetags.issues import issue_address, web_address
from shared.addresses import may_be_linked

HERE = [
    "http://127.0.0.1:9977/x", "http://localhost:1/", "https://127.1/", "http://2130706433/", "http://0x7f.1:9/",
    "http://[::1]:8000/", "http://[::ffff:127.0.0.1]/", "http://a.localhost/", "http://user@127.0.0.1:9/",
    "http:///127.0.0.1:9/", "http:\\\\127.0.0.1:9/", "http://127.0.0.1.:9/", "http://%31%32%37.0.0.1/",
    "http://\uff11\uff12\uff17.0.0.1/", "http://local\thost:9/", "http://0.0.0.0:9/", "HTTP://LOCALHOST/",
    "http://127\u30020\u30020\u30021:9/", "http://127.0.0.\u00ad1:9/", "http://local\u200bhost:9/", "http://127\uff610.0.1/",
    "http://127.0.0.1\ufe0f:9/", "http://www.concord.example.org:9/", "http://127.0.0.1:99999999/", "http://[::1",
    "https://concord.example.org:9443/", "https://concord.example.org:443/", "http://concord.example.org/",
    "http://127.0x.0x.1:9/", "http://127.0.0.0x1/", "http://0177.0.0.1/", "http://127.0.0.01/", "http://192.0.2.7:9/", "http://3221225991:9/",
    "http://0xc0.0.2.7:9/", "http://lab.example.net:9/", "http://any.lab.example.net:9/", "http://www.concord.example.org.:9/",
    "https://concord.xn--example-.org:9/", "http://a%00b/", "http://good.example\\@127.0.0.1/",
    "http://good.example\t.127.0.0.1/", " http://127.0.0.1/", "http://",
]  # fmt: skip
ELSEWHERE = [
    "https://github.com/o/r", "https://concord.example.org/studies/", "HTTPS://Concord.example.org", "http://10.0.0.1/",
    "https://localhost.example/",
    "https://127.example/", "mailto:a@localhost", "https://xn--bcher-kva.example?a", "https://github.com:8443/o#a",
    "https://user_pages.github.io/a%00b", "https://ghe/o/r",
]  # fmt: skip


@pytest.fixture(autouse=True)
def site(settings: object) -> object:
    names = ["concord.example.org", "www.concord.example.org", ".lab.example.net", "192.0.2.7"]
    with override_settings(SITE_URL="https://concord.example.org", ALLOWED_HOSTS=names):
        yield


@pytest.mark.parametrize("address", HERE)
def test_no_text_links_to_another_program_of_this_machine(address: str) -> None:
    assert not may_be_linked(address)
    assert not web_address(address) and not images.sources_of(address)
    html = str(markdown.render_markdown(f'<a href="{address}">the log</a>\n\n[the log](<{address}>)', "o/r"))
    assert "href" not in html and html.count("the log") >= 1
    drawn = str(markdown.render_markdown("The loss $x_1$\n\n```mermaid\nA-->B\n```\n", "o/r", address=address))
    assert "href" not in drawn and "x_1" in drawn and "draws this diagram" in drawn


@pytest.mark.parametrize("address", ELSEWHERE)
def test_other_links_stay(address: str) -> None:
    assert may_be_linked(address) or address.startswith("mailto:")
    assert "href" in str(markdown.render_markdown(f"[the log](<{address}>)", "o/r"))


@pytest.mark.parametrize(
    "identifier", ["127.0.0.1:9942/o/n#1", "http://127.0.0.1:9942/o/n/issues/2", "localhost:9/o/n#1"]
)
def test_an_imported_id_is_no_link_to_another_program_either(identifier: str) -> None:
    assert not issue_address(identifier)
    assert issue_address("o/n#1") == "https://github.com/o/n/issues/1"


def test_a_site_on_loopback_links_to_itself() -> None:
    with override_settings(SITE_URL="http://127.0.0.1:8000"):
        assert may_be_linked("http://127.0.0.1:8000/studies/") and not may_be_linked("http://127.0.0.1:8001/")
    with override_settings(SITE_URL="http://[::1]:8000", ALLOWED_HOSTS=["[::1]"]):
        assert not may_be_linked("http://[::1]:8000/") and may_be_linked("https://github.com/")


def test_no_text_shows_an_answer_of_this_site_as_an_image() -> None:
    """Whoever showed it would have read it, unknowingly, and the audit log would say so."""
    address = "https://concord.example.org/studies/s/agreement/"
    assert may_be_linked(address) and not images.sources_of(address)
    html = str(markdown.render_markdown(f"![the plot]({address}) [the plot]({address})", "o/r"))
    assert "remote-image" not in html and html.count("href") == 1
