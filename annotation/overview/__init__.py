"""Overview: home, next step, item page, guided first study, e-mails, and the demo."""
