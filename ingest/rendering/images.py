"""Images of other hosts: each in a document of its own, with a signed URL and a policy for its host.

So no other page of the site may load anything from elsewhere.
"""

from urllib.parse import urlencode, urlsplit

from django.core.signing import BadSignature, Signer

from ingest.errors import NotFound
from shared.addresses import is_of_this_site, may_be_linked

ADDRESS_MAX = 2_000
SENT_ON = {
    "https://github.com": (
        "https://*.githubusercontent.com",
        "https://github-production-user-asset-6210df.s3.amazonaws.com",
    )
}
"""Where a host keeps its images: a policy looks at the address that a redirect leads to, too."""


def sources_of(address: str) -> tuple[str, ...]:
    """The sources that a policy has to name for an image to be loaded; none where it can't be shown.

    Nothing of this site: an address of it is read as by the person who shows the image, and the audit log would say so.
    """
    if len(address) > ADDRESS_MAX or not may_be_linked(address) or is_of_this_site(address):
        return ()
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc.lower()}"
    return (origin, *SENT_ON.get(origin, ()))


def frame_of(address: str) -> str:
    """The address, within this site, of the document that shows an image."""
    return "/images/?" + urlencode({"address": address, "mark": _signer().signature(address)})


def signed_address(address: str, mark: str) -> str:
    """The address of an image that a text shown here named. Raises NotFound for any other."""
    try:
        return _signer().unsign(f"{address}:{mark}")
    except BadSignature:
        raise NotFound("No image at this URL.") from None


def _signer() -> Signer:
    return Signer(salt="image of a text")
