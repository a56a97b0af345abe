"""A provider of sign-in on this machine: OpenID Connect with signed tokens, and GitHub's way with its own addresses.

It knows one client and whoever sits before the browser (`person`), asks nobody anything, and does one thing wrong on
demand (`fault`).
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "concord-here", "a secret: of the client"
FAULTS = (
    *("", "access_denied", "server_error", "code", "away", "nonsense", "html"),
    *("nonce", "audience", "issuer", "signature", "algorithm", "expired", "kid", "someone else", "no token"),
)
ADA = {"sub": "248289761001", "preferred_username": "ada.l", "name": "Ada Lovelace", "email": "ada@example.org"}

Answer = tuple[int, Any]
"""Status and body; a redirect's body is where to."""


class Provider:
    """At `url` for as long as the block lasts. `asked` remembers the addresses that were asked for."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._other_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.reset()

    def reset(self) -> None:
        """Ada sits before the browser, nothing goes wrong, and any callback is registered."""
        self.person: dict[str, Any] = dict(ADA)
        self.fault = ""
        self.callbacks: set[str] | None = None
        self.asked: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}
        self._tokens: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> "Provider":
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def authorize(self, asked: dict[str, str], headers: Any) -> Answer:
        back = asked.get("redirect_uri", "")
        if asked.get("client_id") != CLIENT or (self.callbacks is not None and back not in self.callbacks):
            return 400, "This client, or the address to send people back to, is not registered here."
        if self.fault in {"access_denied", "server_error"}:
            return 302, f"{back}?{urlencode({'error': self.fault, 'state': asked.get('state', '')})}"
        if asked.get("response_type") != "code" or asked.get("code_challenge_method") != "S256":
            return 302, f"{back}?{urlencode({'error': 'invalid_request', 'state': asked.get('state', '')})}"
        code = secrets.token_urlsafe(12)
        self._codes[code] = asked
        return 302, f"{back}?{urlencode({'code': code, 'state': asked['state']})}"

    def redeem(self, given: dict[str, str], headers: Any) -> dict[str, str] | None:
        """What was asked when this code was given; once, to the client alone, with the word that its hash was of."""
        kind, _, credentials = (headers.get("Authorization") or "").partition(" ")
        if kind == "Basic":
            client, _, secret = base64.b64decode(credentials).decode().partition(":")
            client, secret = unquote(client), unquote(secret)
        else:
            client, secret = given.get("client_id", ""), given.get("client_secret", "")
        asked = self._codes.pop(given.get("code", ""), None)
        if asked is None or (client, secret) != (CLIENT, SECRET) or self.fault == "code":
            return None
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        holds = challenge == asked["code_challenge"] and given.get("redirect_uri") == asked["redirect_uri"]
        return asked if holds else None

    def token(self, given: dict[str, str], headers: Any) -> Answer:
        asked = self.redeem(given, headers)
        if asked is None or given.get("grant_type") != "authorization_code":
            return 400, {"error": "invalid_grant"}
        answer = {"access_token": self._access(), "token_type": "Bearer", "expires_in": 300}
        if self.fault != "no token":
            answer["id_token"] = self._signed(asked)
        return 200, answer

    def _access(self) -> str:
        token = secrets.token_urlsafe(16)
        self._tokens[token] = self.person
        return token

    def _signed(self, asked: dict[str, str]) -> str:
        now, fault = int(time.time()), self.fault
        said = {
            "iss": "http://127.0.0.1:1" if fault == "issuer" else self.url,
            "aud": "someone-else" if fault == "audience" else CLIENT,
            "sub": self.person["sub"],
            "iat": now - 900,
            "exp": now - 300 if fault == "expired" else now + 300,
            "nonce": "of another question" if fault == "nonce" else asked.get("nonce", ""),
        }
        headers = {"kid": "unknown" if fault == "kid" else "first"}
        if fault == "algorithm":
            return jwt.encode(said, SECRET * 2, "HS256", headers)
        return jwt.encode(said, self._other_key if fault == "signature" else self._key, "RS256", headers)

    def discovery(self, asked: dict[str, str], headers: Any) -> Answer:
        if self.fault == "nonsense":
            return 200, ["nothing", "of", "use"]
        return 200, {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/jwks",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "profile", "email"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "code_challenge_methods_supported": ["S256"],
        }

    def jwks(self, asked: dict[str, str], headers: Any) -> Answer:
        public = jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return 200, {"keys": [public | {"kid": "first", "use": "sig", "alg": "RS256"}]}

    def _bearer(self, headers: Any) -> dict[str, Any] | None:
        return self._tokens.get((headers.get("Authorization") or "").partition(" ")[2])

    def userinfo(self, asked: dict[str, str], headers: Any) -> Answer:
        person = self._bearer(headers)
        if person is None:
            return 401, {"error": "invalid_token"}
        return 200, person | ({"sub": "1"} if self.fault == "someone else" else {})

    def github_token(self, given: dict[str, str], headers: Any) -> Answer:
        """As GitHub answers: an error comes with 200, and all of it as a form where no JSON was asked for."""
        asked = self.redeem(given, headers)
        if asked is None:
            return 200, urlencode({"error": "bad_verification_code", "error_description": "The code is incorrect."})
        return 200, urlencode({"access_token": self._access(), "scope": "", "token_type": "bearer"})

    def github_user(self, asked: dict[str, str], headers: Any) -> Answer:
        person = self._bearer(headers)
        if person is None:
            return 401, {"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest"}
        login = person["preferred_username"].replace(".", "-")
        user = {"login": login, "id": int(person["sub"]), "type": "User", "site_admin": False}
        return 200, user | {"name": person["name"], "email": None, "html_url": f"{self.url}/{login}"}

    def routes(self) -> dict[tuple[str, str], Callable[[dict[str, str], Any], Answer]]:
        return {
            ("GET", "/.well-known/openid-configuration"): self.discovery,
            ("GET", "/authorize"): self.authorize,
            ("POST", "/token"): self.token,
            ("GET", "/userinfo"): self.userinfo,
            ("GET", "/jwks"): self.jwks,
            ("GET", "/login/oauth/authorize"): self.authorize,
            ("POST", "/login/oauth/access_token"): self.github_token,
            ("GET", "/api/v3/user"): self.github_user,
        }


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Quiet: `provider.asked` remembers."""

        def do_GET(self) -> None:
            self._take(urlsplit(self.path).query)

        def do_POST(self) -> None:
            self._take(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

        def _take(self, given: str) -> None:
            path = urlsplit(self.path).path
            provider.asked.append(path)
            answer = provider.routes().get((self.command, path))
            if provider.fault == "away":
                status, body = 503, "Be right back."
            elif provider.fault == "html" and path != "/.well-known/openid-configuration" and "authorize" not in path:
                status, body = 200, "<!doctype html><p>Welcome to this network</p>"
            else:
                status, body = answer(dict(parse_qsl(given)), self.headers) if answer else (404, "Nothing here.")
            self.send_response(status)
            if status == 302:
                self.send_header("Location", body)
                body = ""
            is_text = isinstance(body, str)
            self.send_header("Content-Type", "text/plain; charset=utf-8" if is_text else "application/json")
            self.end_headers()
            self.wfile.write((body if is_text else json.dumps(body)).encode())

    return Handler
