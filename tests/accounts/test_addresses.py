"""Where a request comes from: what a trusted proxy saw, never what a visitor says."""

import pytest
from django.test import RequestFactory, override_settings

from shared.addresses import block, client_address, is_loopback, shorten_address


@pytest.mark.parametrize(
    ("n_proxies", "header", "found"),
    [
        (0, "", "10.0.0.9"),
        (0, "203.0.113.5", "10.0.0.9"),
        (1, "203.0.113.5", "203.0.113.5"),
        (1, "127.0.0.1, 203.0.113.5", "203.0.113.5"),
        (2, "127.0.0.1, 203.0.113.5, 10.0.0.1", "203.0.113.5"),
        (2, "203.0.113.5", "10.0.0.9"),
        (1, "nonsense", "10.0.0.9"),
        (1, "", "10.0.0.9"),
        (1, "2001:db8::7", "2001:db8::7"),
    ],
)
def test_only_what_trusted_proxies_wrote_counts(n_proxies: int, header: str, found: str) -> None:
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.9", HTTP_X_FORWARDED_FOR=header)
    with override_settings(TRUSTED_PROXIES=n_proxies):
        assert client_address(request) == found


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
def test_this_machine_is_known_by_each_of_its_names(address: str) -> None:
    assert is_loopback(address) and shorten_address(address) == "this machine"


@pytest.mark.parametrize("address", ["10.0.0.1", "::ffff:10.0.0.1", "2001:db8::1", "", "localhost", "0.0.0.0"])
def test_nothing_else_is_this_machine(address: str) -> None:
    assert not is_loopback(address)


@pytest.mark.parametrize(
    ("address", "shown", "counted_as"),
    [
        ("203.0.113.77", "203.0.113.…", "203.0.113.77"),
        ("::ffff:203.0.113.77", "203.0.113.…", "203.0.113.77"),
        ("2001:db8:7:1:a:b:c:d", "2001:db8:7:…", "2001:db8:7:1::"),
        ("", "", ""),
    ],
)
def test_an_address_is_shown_shortened_and_ipv6_counts_by_its_network(
    address: str, shown: str, counted_as: str
) -> None:
    assert (shorten_address(address), block(address)) == (shown, counted_as)
