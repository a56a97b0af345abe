"""What pages with charts load."""

from django import template

from config.vega import vega_path

register = template.Library()
register.simple_tag(vega_path)
