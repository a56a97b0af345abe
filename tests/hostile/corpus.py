"""Hostile texts by kind. What runs says so: it sets `window.pwned`, opens a dialog, or asks canary.invalid."""

CANARY = "canary.invalid"

SCRIPTS = [
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=2</script>",
    "<img src=x onerror=window.pwned=3>",
    '"><svg onload=window.pwned=4>',
    "'-(window.pwned=5)-'",
    "</title></textarea></style><img src=x onerror=pwned=6>",
    "<iframe srcdoc='<script>top.pwned=7</script>'>",
    "<math><mtext><table><mglyph><style><img src onerror=pwned=8>",
    '<svg></p><style><a id="</style><img src=1 onerror=pwned=9>">',
    '<noscript><p title="</noscript><img src=x onerror=pwned=10>">',
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=pwned=11>",
    "<details open ontoggle=pwned=12><summary>s",
    "<input autofocus onfocus=pwned=13>",
    "--><!--<img src=x onerror=pwned=14>",
    "]]><script>pwned=15</script>",
]
"""Mutation and nesting; the parser of the browser, not ours, has the last word."""

LINKS = [
    "[x](javascript:pwned=20)",
    '<a href="java&#9;script:pwned=21">x</a>',
    "<a href='data:text/html,<script>opener.pwned=22</script>' target=_blank>x</a>",
    "<a href=https://canary.invalid/ target=_blank rel=opener ping=https://canary.invalid/>x</a>",
    "<base href=https://canary.invalid/><meta http-equiv=refresh content='0;url=https://canary.invalid/'>",
    "<a xlink:href=javascript:pwned=23>x</a>",
]
"""Ways elsewhere."""

FETCHES = [
    "![x](https://canary.invalid/a.png)",
    "<img src=//canary.invalid/b.png srcset='https://canary.invalid/c.png 2x'>",
    "<picture><source srcset=https://canary.invalid/d.png><img></picture>",
    "<video autoplay src=https://canary.invalid/e.mp4 poster=https://canary.invalid/f.png></video>",
    "<link rel=stylesheet href=https://canary.invalid/g.css>",
    "<style>@import 'https://canary.invalid/h.css'; *{background:url(https://canary.invalid/i.png)}</style>",
    "<p style='background:url(https://canary.invalid/j.png);position:fixed;inset:0'>x",
    "<table background=https://canary.invalid/k.png><td background=//canary.invalid/l.png>x",
    "<object data=https://canary.invalid/m></object><embed src=https://canary.invalid/n>",
]
"""What tells another host who reads here."""

CLOBBERS = [
    "<img name=body><form id=content name=querySelector><input name=attributes>",
    "<a id=turn href=x></a><a id=version></a><p id=messages hx-get=/me/ hx-trigger=load>",
    "<div class='masthead' data-dialog=x data-submit-on-change hx-on::load='pwned=30'>over everything</div>",
    '<script id=turn type=application/json>{"parts": 1}</script>',
]
"""Names that scripts of ours look for."""

TEMPLATES = [
    "{{ 7|add:7 }}{% load static %}{% debug %}",
    "${pwned=40}#{pwned=41}<%= 7*7 %>",
    '"][0]+(window.pwned=42)+["',
    "'); pwned=43; //",
    "datum.constructor.constructor('pwned=44')()",
    "var(--text)",
    "\\u003cscript\\u003epwned=45\\u003c/script\\u003e",
    "__proto__",
    "constructor",
]
"""For templates, for expressions of charts, and for objects of scripts."""

SPREADSHEETS = [
    '=HYPERLINK("https://canary.invalid/","x")',
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+9)*cmd|' /C calc'!A0",
    "\t=1+1",
    "\r=1+1",
    "ok\r=1+1",
    'ok\r\n=HYPERLINK("https://canary.invalid/")',
    " \n\u00a0=1+1",
    "\u200b\ufeff+1+1",
    "\uff1d1+1",
    "\uff20SUM(1,2)",
    "'=1+1",
    "''--help' ends with an error",
    "-3",
    'a "quoted", and; cut\tcell',
]

PAPERS = [
    "\\input{/etc/passwd}",
    "\\immediate\\write18{id}",
    "$x_1^2$ & 50% #1 ~ {a}",
    "\\end{table}\\catcode`\\%=12",
    '"\nauthors: [{name: Mallory}]\nx: "',
    "---\nlicense: none\n---",
    "![x](https://canary.invalid/readme.png)",
    "]( <b> | `c` | # d",
]
"""For LaTeX, YAML and Markdown that others read."""

UNICODE = [
    "\u202egnp.exe",
    "\u2067\u2066 isolates that are never closed",
    "a\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308 flood",
    "cra\u200bsh \ufeff",
    "\u0430dmin",
    "\u2028pwned=50\u2029",
]

PLACES = [*SCRIPTS, *LINKS, *FETCHES, *CLOBBERS, *TEMPLATES, *SPREADSHEETS, *PAPERS, *UNICODE]
"""All that is put into every text that the database keeps."""
