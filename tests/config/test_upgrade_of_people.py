"""Whoever is signed in when an older release is replaced stays so."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client

from accounts.models import Session, User
from tests import builders as make

BEFORE = [("accounts", "0001_initial")]


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
def test_sessions_of_an_older_release_go_on_and_visitors_are_left_behind() -> None:
    newest = [leaf for leaf in MigrationExecutor(connection).loader.graph.leaf_nodes() if leaf[0] != "sessions"]
    alice = make.user("alice", password="a long password")
    try:
        MigrationExecutor(connection).migrate(BEFORE)
        keys = [_old_session(**{SESSION_KEY: str(alice.pk), HASH_SESSION_KEY: alice.get_session_auth_hash()})]
        keys += [_old_session(theme="dark"), _old_session(**{SESSION_KEY: "999999"})]
    finally:
        MigrationExecutor(connection).migrate(newest)
    assert list(Session.objects.values_list("pk", "user")) == [(keys[0], alice.pk)]
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = keys[0]
    assert client.get("/me/").status_code == 200
    assert User.objects.get().theme == ""


def _old_session(**kept: str) -> str:
    store = SessionStore()
    store.update({**kept, BACKEND_SESSION_KEY: settings.AUTHENTICATION_BACKENDS[0]})
    store.set_expiry(timedelta(days=3))
    store.save()
    return str(store.session_key)
