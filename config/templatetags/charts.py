"""Template tag for the scripts of pages with charts."""

from django import template

from config.vega import vega_path

register = template.Library()
register.simple_tag(vega_path)
