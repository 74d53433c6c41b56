"""Policy files (c2sp.org/tlog-policy): which logs and witnesses are believed, and how many (WITNESS.md section 3)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dealer.log.cosignature import WitnessKey
from dealer.log.errors import LogError
from dealer.log.note import NoteVerifier
from dealer.log.strict import decode_base64

NONE = "none"
_COUNT = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WORDS = {
    "log": (1, 2, "<verifier key> [<url>]"),
    "witness": (2, 3, "<name> <verifier key> [<url>]"),
    "group": (3, 1 << 30, "<name> <k|any|all> <name> ..."),
    "quorum": (1, 1, "<name|none>"),
}


class PolicyError(LogError):
    """A policy that does not decode; the message names the line."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that decodes.

    Attributes:
        logs: verifier keys, as text.
        witnesses: keys by name, in the file's order.
        urls: where a witness is asked (the submission prefix), by name, of those that say so.
        groups: how many of which members, by name, in the file's order: members stand before the group.
        quorum: the witness or group that is asked for; `none` for nothing.
    """

    logs: tuple[str, ...]
    witnesses: Mapping[str, WitnessKey]
    urls: Mapping[str, str]
    groups: Mapping[str, tuple[int, tuple[str, ...]]]
    quorum: str

    def time(self, cosigned: Mapping[str, int]) -> int | None:
        """Returns the quorum's time: the greatest at which, and later, cosignatures enough were made.

        Args:
            cosigned: POSIX seconds at which each witness cosigned, by name.

        Returns:
            POSIX seconds, 0 for the quorum `none`; None where the quorum does not hold.
        """
        times = {NONE: 0} | {name: time for name, time in cosigned.items() if name in self.witnesses}
        for name, (needed, members) in self.groups.items():
            held = sorted((times[member] for member in members if member in times), reverse=True)
            if len(held) >= needed:
                times[name] = held[needed - 1]
        return times.get(self.quorum)


def parse(data: bytes) -> Policy:
    """Reads a policy file.

    Raises:
        PolicyError: it is none.
    """
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise PolicyError("a policy is text in UTF-8, and this is none") from None
    read = _Read()
    for number, line in enumerate(lines, 1):
        try:
            if _CONTROL.search(line):
                raise PolicyError("it holds a control character")
            words = [word for word in re.split(r"[ \t]+", line) if word]
            if words and not words[0].startswith("#"):
                read.line(words[0], words[1:])
        except LogError as error:
            raise PolicyError(f"line {number} of the policy: {error}") from None
    if read.quorum is None:
        raise PolicyError("the policy has no quorum line")
    return Policy(tuple(read.logs), read.witnesses, read.urls, read.groups, read.quorum)


@dataclass(slots=True)
class _Read:
    """What the lines so far say."""

    logs: list[str] = field(default_factory=list)
    witnesses: dict[str, WitnessKey] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)
    groups: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    quorum: str | None = None
    keys: set[bytes] = field(default_factory=set)
    members: set[str] = field(default_factory=set)

    def line(self, word: str, rest: list[str]) -> None:
        """Takes one line."""
        if word not in _WORDS:
            raise PolicyError(f"{word!a} is none of {', '.join(_WORDS)}")
        fewest, most, form = _WORDS[word]
        if not fewest <= len(rest) <= most:
            raise PolicyError(f"expected `{word} {form}`")
        take: dict[str, Callable[..., None]] = {
            "log": self._log,
            "witness": self._witness,
            "group": self._group,
            "quorum": self._quorum,
        }
        take[word](*rest)

    def _log(self, key: str, url: str | None = None) -> None:
        NoteVerifier.parse(key)
        self._once(decode_base64(key.split("+", 2)[2])[1:])
        self.logs.append(key)

    def _witness(self, name: str, key: str, url: str | None = None) -> None:
        self._free(name)
        witness = WitnessKey.parse(key)
        self._once(witness.raw)
        self.witnesses[name] = witness
        if url is not None:
            self.urls[name] = url

    def _group(self, name: str, needed: str, *members: str) -> None:
        self._free(name)
        for member in members:
            self._known(member)
            if member in self.members:
                raise PolicyError(f"{member!a} is a member already, and may be one once")
            self.members.add(member)
        count = {"any": "1", "all": str(len(members))}.get(needed, needed)
        if not _COUNT.fullmatch(count) or int(count) > len(members):
            raise PolicyError(f"{needed!a} of {len(members)}: expected 1 to {len(members)}, any or all")
        self.groups[name] = int(count), members

    def _quorum(self, name: str) -> None:
        if self.quorum is not None:
            raise PolicyError("there is a quorum line already")
        if name != NONE:
            self._known(name)
        self.quorum = name

    def _free(self, name: str) -> None:
        if name == NONE or name in self.witnesses or name in self.groups:
            raise PolicyError(f"{name!a} is no name, or taken")

    def _known(self, name: str) -> None:
        if name not in self.witnesses and name not in self.groups:
            raise PolicyError(f"no witness and no group before this line has the name {name!a}")

    def _once(self, key: bytes) -> None:
        if key in self.keys:
            raise PolicyError("another line has the same public key")
        self.keys.add(key)
