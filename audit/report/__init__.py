"""What the auditor says: text, JSON, and one self-contained HTML file."""
