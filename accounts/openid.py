"""OpenID Connect: verifies the ID token of a provider against its keys and the request."""

from typing import Any

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.http import HttpRequest, HttpResponse

from accounts.identities import DIGITS

ALGORITHMS = {
    "RSA": ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
    "EC": ["ES256", "ES384", "ES512"],
    "OKP": ["EdDSA"],
}
"""By the kind of a key: those where only the provider can have signed."""
SUBJECT_MAX = SocialAccount._meta.get_field("uid").max_length - DIGITS - 1
CLOCKS_DIFFER_SECONDS = 60
NONCE = "nonce"


class SignedAnswer(OpenIDConnectOAuth2Adapter):
    """Takes nobody's word without a signature, also not over TLS; the rest is allauth's."""

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        """Who someone is by the signed token; userinfo adds how they are called. Raises OAuth2Error."""
        said = self._decode_id_token(app, str(kwargs["response"].get("id_token", "")))
        found = {"id_token": said}
        if "userinfo_endpoint" in self.openid_config:
            found["userinfo"] = self._fetch_user_info(token.token)
            if found["userinfo"].get("sub") != said["sub"]:
                raise OAuth2Error("userinfo is about another account than the token")
        login = self.get_provider().sociallogin_from_response(request, found)
        login.nonce = said.get(NONCE)
        return login

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        with get_adapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
            answer.raise_for_status()
        try:
            kid = jwt.get_unverified_header(id_token).get("kid")
            keys = [
                key
                for key in jwt.PyJWKSet.from_dict(answer.json()).keys
                if key.key_type in ALGORITHMS and key.public_key_use in (None, "sig") and kid in (None, key.key_id)
            ]
            if not keys:
                raise OAuth2Error("the provider publishes no such key")
            said: dict[str, Any] = jwt.decode(
                id_token,
                keys[0].key,
                algorithms=ALGORITHMS[keys[0].key_type or ""],
                audience=app.client_id,
                issuer=self.openid_config["issuer"],
                leeway=CLOCKS_DIFFER_SECONDS,
                options={"require": ["iss", "sub", "aud", "exp", "iat"]},
            )
        except jwt.PyJWTError as error:
            raise OAuth2Error(f"the token does not hold: {error}") from error
        subject = said["sub"]
        if not isinstance(subject, str) or not subject.isprintable() or not 0 < len(subject) <= SUBJECT_MAX:
            raise OAuth2Error("the token's subject can't be stored")
        return said


def is_answer(login: SocialLogin) -> bool:
    """Whether it answers this browser's own question, by the nonce that was asked with; GitHub is asked with none."""
    asked = login.state.get(NONCE)
    return asked is None or getattr(login, NONCE, None) == asked


def come_back(request: HttpRequest, provider_id: str) -> HttpResponse:
    """allauth's answer to whoever comes back from the provider."""
    answer: HttpResponse = OAuth2CallbackView.adapter_view(SignedAnswer(request, provider_id))(request)
    return answer
