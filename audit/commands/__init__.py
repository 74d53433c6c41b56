"""The commands of `audit`, one module each; `audit.cli` loads a module when its command is called."""
