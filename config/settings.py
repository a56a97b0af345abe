"""Settings, all from environment variables; `.env.example` describes each one."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from config import embedded, env, logs, revision
from shared import file_modes

file_modes.be_private()  # before anything is written, in every process that reads the settings

env.read_file()
BASE_DIR = Path(__file__).resolve().parent.parent
CONCORD_VERSION = "0.2.0"  # as in pyproject.toml and CITATION.cff
CONCORD_COMMIT = revision.commit(env.text("CONCORD_COMMIT"))
DATA_DIR = env.folder("DATA_DIR", BASE_DIR / ".data")
DEBUG = env.flag("DEBUG")
PORT = env.whole_number("PORT", 8000, least=1, most=65535)
WEB_PROCESSES = env.whole_number("WEB_PROCESSES", min(max(os.cpu_count() or 1, 1), 4), least=1, most=64)


def _secret_key() -> str:
    """SECRET_KEY, or one made once and kept in the data folder."""
    if given := env.text("SECRET_KEY"):
        if len(given) < 32:
            raise ImproperlyConfigured(
                "SECRET_KEY is shorter than 32 characters; make one with `openssl rand -hex 32`."
            )
        return given
    path = DATA_DIR / "secret_key"
    try:
        file_modes.make_data_folder(DATA_DIR)
        if not path.exists():
            draft = path.with_name(f"secret_key.{os.getpid()}")
            draft.touch(mode=0o600)
            draft.write_text(secrets.token_hex(32))
            with suppress(FileExistsError):  # another process was quicker
                os.link(draft, path)
            draft.unlink()
        return path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"The data folder {DATA_DIR} cannot be used ({error.strerror}: {error.filename}). Give it to yourself "
            f"(`sudo chown -R $(id -un) '{DATA_DIR}'`), or choose another with DATA_DIR=…"
        ) from error


def _former_keys() -> list[str]:
    """SECRET_KEY_FALLBACKS: what was signed with them is still read, and nothing is signed with them any more."""
    former = env.words("SECRET_KEY_FALLBACKS")
    if any(len(key) < 32 for key in former):
        raise ImproperlyConfigured("A key in SECRET_KEY_FALLBACKS is shorter than 32 characters; write whole keys.")
    return former


SECRET_KEY = _secret_key()
SECRET_KEY_FALLBACKS = _former_keys()
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")
HTTPS = env.flag("HTTPS")
TRUSTED_PROXIES = env.whole_number("TRUSTED_PROXIES", 0, most=10)
SITE_URL_GIVEN = env.site("SITE_URL")
_names = [*env.hosts("ALLOWED_HOSTS"), *env.host_of(SITE_URL_GIVEN)]
LOOPBACK_ONLY = (
    not (env.hosts("ALLOWED_HOSTS") or HTTPS or TRUSTED_PROXIES)
    and env.LOOPBACK.issuperset(_names)
    and env.text("BIND", "127.0.0.1") in env.LOOPBACK  # nobody else's machine is meant to reach this one
)
ALLOWED_HOSTS = [*_names, *(env.LOOPBACK_HOSTS if LOOPBACK_ONLY else ())]
SITE_URL = SITE_URL_GIVEN or env.site_without_setting(_names, https=HTTPS, is_proxied=bool(TRUSTED_PROXIES), port=PORT)

INSTALLED_APPS = [
    "config",
    "annotation",
    "taxonomy",
    "ingest",
    "accounts",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",
    "django_structlog",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.github",
    "allauth.socialaccount.providers.openid_connect",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]
MIDDLEWARE = [
    "config.request_log.RequestLog",
    "config.middleware.Probes",
    "config.headers.Headers",
    "csp.middleware.CSPMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.foreign_requests.ForeignRequests",
    "config.request_time_limits.Deadlines",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.middleware.SeenSessions",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.body_limits.BodyLimits",
    "config.signed_in.LongAnswers",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.middleware.ErrorPages",
    "config.middleware.PresentRoles",
    "config.middleware.ArchivedStudyGuard",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

PGBOUNCER = env.flag("PGBOUNCER")
DATABASES = {
    "default": env.database(env.text("DATABASE_URL") or embedded.database_url(DATA_DIR))
    | {
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "ATOMIC_REQUESTS": False,
        "DISABLE_SERVER_SIDE_CURSORS": PGBOUNCER,
    }
}
DIRECT_DATABASE = env.database(env.text("DIRECT_DATABASE_URL")) if env.text("DIRECT_DATABASE_URL") else None
WEB_DATABASE = env.database(env.text("WEB_DATABASE_URL")) if env.text("WEB_DATABASE_URL") else None
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = env.text("REDIS_URL") or embedded.redis_url(DATA_DIR)
CACHES = {
    "default": {
        "BACKEND": "config.patient_cache.PatientCache",
        "LOCATION": REDIS_URL.replace("redis+socket://", "unix://"),
        "KEY_PREFIX": "concord",
        "OPTIONS": {
            "serializer": "config.patient_cache.SignedSerializer",
            "socket_connect_timeout": 1,
            "socket_timeout": 1,
            "retry": Retry(
                NoBackoff(), 1, supported_errors=(RedisConnectionError,)
            ),  # once: it may have been restarted
        },
    }
}

CELERY_BROKER_URL = REDIS_URL
CELERY_WORKER_CONCURRENCY = WORKER_PROCESSES = env.whole_number("WORKER_PROCESSES", 2, least=1, most=64)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # however long Redis is away, the worker waits for it
CELERY_TASK_SOFT_TIME_LIMIT, CELERY_TASK_TIME_LIMIT = 1800, 1860  # seconds; some tasks have limits of their own
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 3,
    "socket_timeout": 3,
    "socket_keepalive": True,
    "visibility_timeout": 2 * 3600,  # above the longest time limit, else a job at work is sent to a second worker
}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "config.celery:Clock"
CELERY_IMPORTS = ("accounts.jobs", "annotation.jobs", "ingest.jobs")
PICK_UP_SECONDS = env.whole_number("PICK_UP_SECONDS", 5, least=1, most=600)
SWEEP_SECONDS = float(PICK_UP_SECONDS)
RULES_SECONDS = env.whole_number("RULES_SECONDS", 60, least=1, most=3600)
CELERY_BEAT_SCHEDULE = {
    "send jobs again that were lost": {"task": "accounts.jobs.sweep_jobs", "schedule": SWEEP_SECONDS},
    "make issues searchable that wait for it": {"task": "ingest.tasks.index_what_waits", "schedule": 10.0},
    "queue issues that the search index lacks": {"task": "ingest.tasks.queue_what_is_missing", "schedule": 3600.0},
    "count what repositories hold now": {"task": "ingest.tasks.count_totals", "schedule": 30.0},
    "apply rules to new answers": {"task": "annotation.tasks.rule_new_answers", "schedule": float(RULES_SECONDS)},
    "remove files of studies that came in": {"task": "annotation.jobs.remove_old_arrivals", "schedule": 3600.0},
    "delete files that exports left": {"task": "annotation.jobs.discard_export_files", "schedule": 3600.0},
    "remove workbooks that are not needed any more": {
        "task": "annotation.jobs.remove_old_workbooks",
        "schedule": 3600.0,
    },
    "send e-mails about waiting work": {"task": "annotation.jobs.send_due_mails", "schedule": 3600.0},
    "remove sessions and links that are over": {"task": "accounts.jobs.remove_what_is_over", "schedule": 3600.0},
    "remove files that are not needed any more": {"task": "ingest.tasks.remove_old_files", "schedule": 3600.0},
}
for _each in CELERY_BEAT_SCHEDULE.values():  # so that nothing piles up while no worker is there
    _each["options"] = {"expires": max(60.0, float(str(_each["schedule"])))}

AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign_in"
PASSWORD_HASHERS = [
    "accounts.password_hashing.Argon2idHasher",
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
] + [{"NAME": f"accounts.passwords.{name}"} for name in ("LongOrHardToGuess", "NotAName", "NotTheDemos")]
SESSION_ENGINE = "accounts.sessions"
SESSION_COOKIE_AGE = 60 * 60 * 24 * 30
SESSION_COOKIE_NAME = "__Host-concord" if HTTPS else f"concord_{PORT}"
KNOWN_BROWSER_COOKIE_NAME = "__Host-concord_known" if HTTPS else f"concord_known_{PORT}"
CSRF_COOKIE_NAME = "__Host-concord_csrf" if HTTPS else f"concord_csrf_{PORT}"
CSRF_FAILURE_VIEW = "config.views.forged"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "collected"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "config.vega.VegaFinder",
    "config.api_docs.DocsFinder",
]
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_IMMUTABLE_FILE_TEST = r"/vega/vega-[\w.]+\.js$"
STORAGES = {
    "default": env.files(DATA_DIR / "files"),
    "staticfiles": {  # public, and perhaps collected by another user than the one who serves them
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage",
        "OPTIONS": {"file_permissions_mode": 0o644, "directory_permissions_mode": 0o755},
    },
}
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700
UPLOAD_BYTES_MAX = env.whole_number("UPLOAD_MEGABYTES_MAX", 200, least=1) * 1024 * 1024
BACKUPS_KEPT = env.whole_number("BACKUPS_KEPT", 5, least=1, most=1000)
DISK_RESERVE_BYTES = env.whole_number("DISK_RESERVE_MEGABYTES", 0) * 1024 * 1024
UPLOADS_KEPT_DAYS = env.whole_number("UPLOADS_KEPT_DAYS", 30, least=1, most=36_500)
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5_000  # the columns of a workbook's sheets, and values to decide on
DATA_UPLOAD_MAX_NUMBER_FILES = 100

GITHUB_API_URL = env.text("GITHUB_API_URL", "https://api.github.com").rstrip("/")
GITHUB_TOKENS = env.words("GITHUB_TOKENS")
FETCHERS = env.people("FETCHERS", "staff")
STUDY_CREATORS = env.people("STUDY_CREATORS", "everyone")
DEMO_OPEN = env.flag("DEMO_OPEN")
GITHUB_WEBHOOK_SECRET = env.text("GITHUB_WEBHOOK_SECRET")

SOCIALACCOUNT_ADAPTER = "accounts.providers.ProviderAdapter"
SOCIALACCOUNT_QUERY_EMAIL = False  # so that GitHub is asked for nothing but who someone is
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"  # of the address that a provider sends people back to
SIGN_IN_PROVIDERS, SOCIALACCOUNT_PROVIDERS = env.sign_in_providers(GITHUB_API_URL)

_email = env.email("EMAIL_URL")
SENDS_EMAIL = bool(_email)
EMAIL_HOST = str(_email.get("EMAIL_HOST", ""))
EMAIL_PORT = int(str(_email.get("EMAIL_PORT", 25)))
EMAIL_HOST_USER = str(_email.get("EMAIL_HOST_USER", ""))
EMAIL_HOST_PASSWORD = str(_email.get("EMAIL_HOST_PASSWORD", ""))
EMAIL_USE_TLS, EMAIL_USE_SSL = bool(_email.get("EMAIL_USE_TLS")), bool(_email.get("EMAIL_USE_SSL"))
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM", "Concord <concord@localhost>")

X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
if HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]  # asked from beside, not through the proxy
    SECURE_HSTS_SECONDS = 60 * 60 * 24 * 365
    # HSTS for the hosts below this one, and for good in browsers, is for whoever owns the domain: the proxy sends it.
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "frame-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "upgrade-insecure-requests": HTTPS,
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.api.TokenAuthentication", "accounts.api.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.api.ReadOrManage"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["shared.json_formats.StorableJson"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "shared.json_formats.JsonFallbackNegotiation",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "config.paging.Pages",
    "DEFAULT_THROTTLE_CLASSES": ["accounts.api.TokenThrottle"],
    "DEFAULT_THROTTLE_RATES": {"token": env.text("THROTTLE", "6000/min")},
    "URL_FORMAT_OVERRIDE": None,
    "EXCEPTION_HANDLER": "config.api.error_answer",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Concord",
    "DESCRIPTION": "Label GitHub issues against a versioned taxonomy, and pull agreed labels with their agreement.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {
        "PlanState": "annotation.models.Plan.State",
        "ExportState": "annotation.models.Export.State",
        "InvitationState": "annotation.members.api.invitations.STATES",
        "MemberState": "annotation.models.Membership.State",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "config.openapi.describe_errors",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

METRICS_TOKEN = env.secret("METRICS_TOKEN", least=16)
if METRICS_TOKEN:
    MIDDLEWARE.insert(1, "django_prometheus.middleware.PrometheusBeforeMiddleware")
    MIDDLEWARE.append("config.metrics.RequestCounter")
SLOW_REQUEST_MS = env.whole_number("SLOW_REQUEST_MS", 1000, least=1)
LOGGING = logs.settings_of(
    env.choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR")),
    env.choice("LOG_FORMAT", "text", ("text", "json")),
    [str(each["task"]) for each in CELERY_BEAT_SCHEDULE.values()],
)
logs.begin()
DJANGO_STRUCTLOG_CELERY_ENABLED = True
DJANGO_STRUCTLOG_CELERY_TASK_START_LOG_LEVEL = 10
