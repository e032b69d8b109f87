"""Settings; the only reader of the environment. Development runs with none set."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from urllib.parse import urlsplit

from django.utils.csp import CSP

from config import environment as env
from config import logs, servers

BASE_DIR = Path(__file__).resolve().parent.parent
VERSION = "0.1.0"

# --- where things are kept -------------------------------------------------------------------------------------
DATA_DIR = Path(env.text("TIDELINE_DATA", str(BASE_DIR / "var"))).resolve()
PRODUCTION = env.flag("TIDELINE_PRODUCTION", default=False)
TESTING = "pytest" in sys.modules

DEBUG = env.flag("TIDELINE_DEBUG", default=False)
if DEBUG and PRODUCTION:
    raise env.EnvironmentProblem("TIDELINE_DEBUG", "is on together with TIDELINE_PRODUCTION; switch one off")


def _secret_key() -> str:
    """The configured key, or one made on first start and kept beside the data (never in production)."""
    if value := env.text("TIDELINE_SECRET_KEY"):
        return value
    if PRODUCTION:
        raise env.EnvironmentProblem("TIDELINE_SECRET_KEY", "is not set; production needs one of 50 characters or more")
    if TESTING:
        return "tests-only-" + "x" * 50
    path = DATA_DIR / "secret-key"
    if not path.exists():
        DATA_DIR.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=True)
        path.write_text(secrets.token_urlsafe(64), encoding="ascii")
    return path.read_text(encoding="ascii").strip()


SECRET_KEY = _secret_key()

# --- addresses -------------------------------------------------------------------------------------------------
# The app and the snapshot frames live on two hosts, so that a captured page never shares an origin with a session.
APP_ORIGIN = env.text("TIDELINE_ORIGIN", "http://127.0.0.1:8000").rstrip("/")
FRAME_ORIGIN = env.text("TIDELINE_FRAME_ORIGIN", "http://localhost:8000").rstrip("/")
for _name, _origin in (("TIDELINE_ORIGIN", APP_ORIGIN), ("TIDELINE_FRAME_ORIGIN", FRAME_ORIGIN)):
    _parts = urlsplit(_origin)
    if _parts.scheme not in {"http", "https"} or not _parts.hostname or _parts.path:
        raise env.EnvironmentProblem(
            _name, f"is {_origin!r}; expected a scheme and host such as https://watch.example.org"
        )
if urlsplit(APP_ORIGIN).hostname == urlsplit(FRAME_ORIGIN).hostname:
    raise env.EnvironmentProblem(
        "TIDELINE_FRAME_ORIGIN", "has the host of TIDELINE_ORIGIN; snapshots need one of their own"
    )
HTTPS = APP_ORIGIN.startswith("https://")
# Workers reach the product's own pages (sample, canaries) here; another machine's workers need the web server's address.
SAMPLE_ORIGIN = env.text(
    "TIDELINE_SAMPLE_ORIGIN", APP_ORIGIN if APP_ORIGIN.startswith("http://") else "http://127.0.0.1:8000"
)

ALLOWED_HOSTS = sorted(
    {
        str(urlsplit(APP_ORIGIN).hostname),
        str(urlsplit(FRAME_ORIGIN).hostname),
        str(urlsplit(SAMPLE_ORIGIN).hostname),
        *env.words("TIDELINE_ALLOWED_HOSTS"),
        *([] if PRODUCTION else ["127.0.0.1", "localhost", "[::1]"]),
    }
)
CSRF_TRUSTED_ORIGINS = [APP_ORIGIN]

# --- applications ----------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "monitoring.adminsite.TidelineAdmin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "monitoring",  # before the queue library, whose command `qcluster` it makes its own
    "django_q",
    "django_htmx",
    "axes",
    "review",
]

MIDDLEWARE = [
    "review.request_ids.RequestIds",
    "review.probes.Probes",
    "review.middleware.FrameHost",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "review.middleware.PersonalSettings",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.csp",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "review.context.interface",
            ],
        },
    }
]

# --- data ------------------------------------------------------------------------------------------------------
DATABASES = {"default": servers.database("TIDELINE_DATABASE", "DATABASE_URL", DATA_DIR)}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3" and not TESTING:
    DATA_DIR.mkdir(parents=True, exist_ok=True)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Page bytes: a folder, or a service that speaks S3 (then `STORAGE` is set and the folder is not used).
STORAGE_KEY, STORAGE_SECRET = env.text("TIDELINE_STORAGE_KEY"), env.text("TIDELINE_STORAGE_SECRET")
PAYLOAD_DIR, STORAGE = servers.storage(
    "TIDELINE_STORAGE", "STORAGE_URL", DATA_DIR / "payloads", key=STORAGE_KEY, secret=STORAGE_SECRET
)

REDIS_URL = servers.redis("TIDELINE_REDIS", "REDIS_URL")
CACHES = {
    "default": (
        {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
        if REDIS_URL
        else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    )
}

# --- accounts --------------------------------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "queue"
LOGOUT_REDIRECT_URL = "login"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]  # the pair: a name alone would let anybody lock anybody out
AXES_RESET_ON_SUCCESS = True
PROXY_COUNT = env.number("TIDELINE_PROXY_COUNT", 0, low=0, high=5)
AXES_CLIENT_IP_CALLABLE = "review.visitor.address_of"
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AXES_LOCKOUT_TEMPLATE = "registration/locked.html"

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
if HTTPS:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-session", "__Host-csrf"
    SECURE_SSL_REDIRECT = env.flag("TIDELINE_SSL_REDIRECT", default=True)
    SECURE_REDIRECT_EXEMPT = [r"^(sample|canary)/"]  # workers ask the web server itself, behind the proxy, and say so
    SECURE_HSTS_SECONDS = env.number("TIDELINE_HSTS_SECONDS", 31_536_000, low=0, high=63_072_000)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = False
    if env.flag("TIDELINE_TRUST_FORWARDED_PROTO", default=False):
        SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- headers ---------------------------------------------------------------------------------------------------
SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "frame-src": [FRAME_ORIGIN],
    "form-action": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
}
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# --- language and time -----------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("ja", "日本語")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_TZ = True
TIME_ZONE = "UTC"

# --- static files ----------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = Path(env.text("TIDELINE_STATIC") or DATA_DIR / "static")
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": (
            "django.contrib.staticfiles.storage.StaticFilesStorage"
            if TESTING or DEBUG
            else "whitenoise.storage.CompressedManifestStaticFilesStorage"
        )
    },
}

# --- mail ------------------------------------------------------------------------------------------------------
MAIL_DIR = DATA_DIR / "mail"
_smtp_host = env.text("TIDELINE_SMTP_HOST")
if _smtp_host:
    MAILERS = {
        "default": {
            "BACKEND": "django.core.mail.backends.smtp.EmailBackend",
            "OPTIONS": {
                "host": _smtp_host,
                "port": env.number("TIDELINE_SMTP_PORT", 587, low=1, high=65535),
                "username": env.text("TIDELINE_SMTP_USER"),
                "password": env.text("TIDELINE_SMTP_PASSWORD"),
                "use_tls": env.flag("TIDELINE_SMTP_STARTTLS", default=True),
                "timeout": 20,
            },
        }
    }
elif PRODUCTION:
    raise env.EnvironmentProblem(
        "TIDELINE_SMTP_HOST", "is not set; production needs a mail server for alerts and digests"
    )
else:
    MAILERS = {
        "default": {
            "BACKEND": "django.core.mail.backends.filebased.EmailBackend",
            "OPTIONS": {"file_path": str(MAIL_DIR)},
        }
    }
DEFAULT_FROM_EMAIL = env.text("TIDELINE_MAIL_FROM", "Tideline <tideline@localhost>")
SERVER_EMAIL = DEFAULT_FROM_EMAIL

# --- workers ---------------------------------------------------------------------------------------------------
WORKERS = env.number("TIDELINE_WORKERS", 2, low=1, high=64)
# Workers that render pages have a queue of their own, so that neither kind of page waits for the other. 0: none here.
BROWSER_WORKERS = env.number("TIDELINE_BROWSER_WORKERS", 1, low=0, high=64)
# By class of workers. The first is as old as the product: what the release before has queued is in it.
QUEUES = {"http": "tideline", "browser": "tideline-browser"}
# Which queue a cluster started from here serves; the queue library reads the variable as well. Empty: both.
CLUSTER_NAME = env.text("Q_CLUSTER_NAME")
if CLUSTER_NAME and CLUSTER_NAME not in QUEUES.values():
    raise env.EnvironmentProblem("Q_CLUSTER_NAME", f"is {CLUSTER_NAME!r}; expected {' or '.join(QUEUES.values())}")
# What a worker may allocate (RLIMIT_DATA, where the system has it); 0 sets no limit. Browsers have one of their own.
WORKER_MEMORY_MB = env.number("TIDELINE_WORKER_MEMORY_MB", 1024, low=0, high=1_000_000)
if 0 < WORKER_MEMORY_MB < 512:
    raise env.EnvironmentProblem("TIDELINE_WORKER_MEMORY_MB", f"is {WORKER_MEMORY_MB}; a worker needs 512 or more")
# A worker that shows no sign of life for so long loses what it had claimed.
LEASE_S = env.number("TIDELINE_LEASE_S", 90, low=2, high=3600)
Q_CLUSTER = {
    "name": QUEUES["http"],  # signs what is queued, in every queue
    "ALT_CLUSTERS": {
        QUEUES["browser"]: {"workers": max(BROWSER_WORKERS, 1), "queue_limit": max(BROWSER_WORKERS, 1) * 2}
    },
    "workers": WORKERS,
    "timeout": 240,  # a batch has a budget of 180 s of its own
    "retry": 300,  # above timeout: a running batch is never handed out twice by the broker
    "max_attempts": 3,
    "ack_failures": True,
    "catch_up": False,  # one tick covers all missed ones
    "queue_limit": WORKERS * 2,  # priorities must not freeze inside the broker
    "bulk": 1,
    "save_limit": 200,
    "recycle": 200,
    "max_rss": 250_000,
    "poll": 0.5,
    "label": "Background work",
    "log_level": "WARNING",
    "scheduler": False,  # what runs by the clock is in our own tables
    "broker_class": f"monitoring.broker.{'RedisBroker' if REDIS_URL else 'DatabaseBroker'}",
    **({"redis": REDIS_URL} if REDIS_URL else {"orm": "default"}),
}

# --- fetching --------------------------------------------------------------------------------------------------
CHROMIUM = env.text("TIDELINE_CHROMIUM")
# Whom a site's owner can ask about our requests: a mail address or a page, shown in the user agent.
CONTACT = env.contact("TIDELINE_CONTACT")
USER_AGENT = env.text(
    "TIDELINE_USER_AGENT", f"Mozilla/5.0 (compatible; Tideline/{VERSION}{f'; +{CONTACT}' if CONTACT else ''})"
)
# The name that robots.txt files address us by; it stands in the user agent.
ROBOT_NAME = "Tideline"
FETCH_CONCURRENCY = env.number("TIDELINE_FETCH_CONCURRENCY", 20, low=1, high=200)
FETCH_PER_HOST = env.number("TIDELINE_FETCH_PER_HOST", 2, low=1, high=20)
# What a visit by a browser costs of a team's budget, in fetches.
BROWSER_COST = env.number("TIDELINE_BROWSER_COST", 20, low=1, high=1000)
# A change is looked at twice before it is raised: so many seconds lie between the two fetches.
CONFIRM_DELAY_S = env.number("TIDELINE_CONFIRM_DELAY_S", 4, low=0, high=60)
EXTRA_PORTS = env.numbers("TIDELINE_EXTRA_PORTS", low=1, high=65535)
# Private networks (CIDR) that monitors may watch; everything else that is not public stays refused.
ALLOWED_NETWORKS = env.networks("TIDELINE_ALLOWED_NETWORKS")
# Proxies of vantages that may stand on private addresses, as host:port; any other proxy has to be public.
TRUSTED_PROXIES = env.places("TIDELINE_TRUSTED_PROXIES")
# What `secret:NAME` in a step, a cookie or a proxy means: TIDELINE_SECRET_NAME, or a line of TIDELINE_SECRETS_FILE.
SECRETS = env.Secrets("TIDELINE_SECRET_", env.text("TIDELINE_SECRETS_FILE"))
# Seconds between two changes that are planted on each canary; 0 switches canaries off.
CANARY_S = env.number("TIDELINE_CANARY_S", 3600, low=0, high=86_400)
if 0 < CANARY_S < 600:
    raise env.EnvironmentProblem("TIDELINE_CANARY_S", f"is {CANARY_S}; expected 0 (off) or 600 and more")
# Tests only: pairs ip:port the address guard lets through. Production refuses to start with it.
TEST_ALLOWED_ADDRESSES = env.words("TIDELINE_TEST_ALLOWED_ADDRESSES")
if TEST_ALLOWED_ADDRESSES and PRODUCTION:
    raise env.EnvironmentProblem("TIDELINE_TEST_ALLOWED_ADDRESSES", "opens the address guard; production refuses it")

# --- probes ----------------------------------------------------------------------------------------------------
# Who may read metrics and the sentences of /health/ready; without either there are no metrics.
METRICS_TOKEN = env.text("TIDELINE_METRICS_TOKEN")
if METRICS_TOKEN and (len(METRICS_TOKEN) < 16 or not METRICS_TOKEN.isascii()):
    raise env.EnvironmentProblem("TIDELINE_METRICS_TOKEN", "is too short; expected 16 characters of ASCII or more")
METRICS_NETWORKS = env.any_networks("TIDELINE_METRICS_NETWORKS")

# --- logging ---------------------------------------------------------------------------------------------------
LOG_FORMAT = env.choice("TIDELINE_LOG_FORMAT", "text", ("text", "json"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "config.logs.OneLine", "format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
        "json": {"()": "config.logs.JsonLines"},
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT},
        "recent": {"class": "config.logs.RecentErrors", "level": "ERROR"},
    },
    "root": {"handlers": ["console", "recent"], "level": env.text("TIDELINE_LOG_LEVEL", "WARNING")},
    "loggers": {
        "monitoring": {"level": env.text("TIDELINE_LOG_LEVEL", "INFO"), "propagate": True},
        "review": {"level": env.text("TIDELINE_LOG_LEVEL", "INFO"), "propagate": True},
        "django.security.DisallowedHost": {"handlers": [], "propagate": False},
    },
}
# What no log line ever holds; secrets of sites join them when they are read.
logs.hide(
    SECRET_KEY,
    METRICS_TOKEN,
    env.text("TIDELINE_SMTP_PASSWORD"),
    STORAGE_SECRET,
    *env.passwords(
        "TIDELINE_DATABASE", "DATABASE_URL", "TIDELINE_REDIS", "REDIS_URL", "TIDELINE_STORAGE", "STORAGE_URL"
    ),
)

# Other services of the same domain are not ours to force onto https, and a preload list is for whole domains.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
