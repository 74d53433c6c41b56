"""Whether a hand's close stands in the log already, before its player says more in it (SEATS.md, section 6)."""

from dealer.client.errors import CheckError
from dealer.client.log import LogView
from dealer.client.receipts import family_of, read_entry


class Ending:
    """Looks for one hand's close, from where it looked last; believes no more than that it has seen none."""

    def __init__(self, log: LogView) -> None:
        self._log, self._family = log, family_of(log.verifier)
        self._next = 0

    async def require_none(self, hand_id: str, commit: int) -> None:
        """Reads what has come into the log since the hand's commit, or since the last look.

        Raises:
            CheckError: `lifecycle`: the hand is closed there: whoever plays it on, plays it to its player alone.
            CallError: the log's service did not answer.
        """
        self._next = max(self._next, commit + 1)
        mark = f'"hand":"{hand_id}"'.encode()
        async for entry in self._log.entries(self._next):
            if mark in entry and read_entry(entry).get("schema") == f"{self._family}/close":
                said = f"the hand is played on, and entry {self._next} of the log is its close"
                raise CheckError("lifecycle", said)
            self._next += 1
