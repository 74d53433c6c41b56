"""The dealer asks witnesses, beside the calls that it answers (WITNESS.md sections 4 and 5)."""
