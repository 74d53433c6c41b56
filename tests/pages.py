"""A page of text with its place in the repository, for the checks of documents and of what cites them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} (?P<text>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Document:
    """One page; findings name its path and line."""

    path: Path
    text: str

    def line(self, offset: int) -> str:
        """Where an offset of the text lies."""
        return f"{self.path.relative_to(ROOT)}:{self.text.count(chr(10), 0, offset) + 1}"

    def prose(self) -> str:
        """The text with its fenced blocks blanked out, offsets kept."""
        return FENCE.sub(lambda fence: blank(fence[0]), self.text)


def blank(text: str) -> str:
    """As many spaces as the text has characters, line ends kept."""
    return re.sub(r"[^\n]", " ", text)
