"""Labels: reading of answers, consensus, verdicts, evidence, versions, and agreed labels."""
