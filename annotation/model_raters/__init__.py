"""Model raters: raters that are language models or classifiers."""
