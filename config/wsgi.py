"""WSGI application of the web server, with all that requests need in memory."""

import os
import warnings

from django.core.wsgi import get_wsgi_application

from config import preload
from config.content_types import PlainContentTypes

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
with preload.frozen(), warnings.catch_warnings():
    warnings.filterwarnings("ignore", "No directory at")  # of collected files, which only the image has
    application = PlainContentTypes(get_wsgi_application())
    preload.load_pages()
