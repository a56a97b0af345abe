"""LaTeX escaping of text."""

import re

SIGNS = r"""
▲ \uparrow ▼ \downarrow ≤ \leq ≥ \geq ≠ \neq ≈ \approx → \rightarrow ← \leftarrow ↔ \leftrightarrow ⇒ \Rightarrow
∈ \in ∞ \infty ≡ \equiv √ \surd ∆ \Delta ✓ \surd
α \alpha β \beta γ \gamma δ \delta ε \epsilon ζ \zeta η \eta θ \theta ι \iota κ \kappa λ \lambda μ \mu ν \nu ξ \xi π \pi
ρ \rho σ \sigma τ \tau υ \upsilon φ \phi χ \chi ψ \psi ω \omega Γ \Gamma Δ \Delta Θ \Theta Λ \Lambda Ξ \Xi Π \Pi Σ
\Sigma Υ \Upsilon Φ \Phi Ψ \Psi Ω \Omega
"""
"""A sign and its command in mathematics, by turns."""
SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "“": "``",
    "”": "''",
    "’": "'",
    "−": "$-$",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "`": r"\textasciigrave{}",
    **{sign: f"${command}$" for sign, command in zip(*[iter(SIGNS.split())] * 2, strict=True)},
}
"""How pdfTeX takes what it would take for a command, a bracket behind a line's end, or not at all.

Accents, dashes and quotation marks it knows since 2018; letters of other scripts need XeTeX or LuaTeX and a font.
"""


HYPHENS = re.compile(r"-(?=-)")
"""Two of them would become one dash."""


def escape_latex(text: str) -> str:
    """A text as LaTeX takes it for itself: special characters by their commands, lines joined, hyphens kept apart."""
    told = "".join(SPECIAL.get(letter, letter) for letter in " ".join(text.split()) if letter.isprintable())
    return HYPHENS.sub("-{}", told)
