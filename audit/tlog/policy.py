"""Policy files (c2sp.org/tlog-policy): which logs and witnesses are believed, and how many (WITNESS.md section 3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from audit.errors import FormatError
from audit.tlog.cosignature import WitnessKey
from audit.tlog.keys import VerifierKey
from audit.tlog.note import Note

NONE = "none"
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Witness:
    """A witness: its name in the policy, its key, and where it is asked (the submission prefix), None if unsaid."""

    name: str
    key: WitnessKey
    url: str | None


@dataclass(frozen=True, slots=True)
class Group:
    """A group of which at least `needed` of the members (witnesses and groups before it, by name) are asked for."""

    name: str
    needed: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that decodes.

    Attributes:
        logs: the logs' keys; none where the policy leaves open which log it is for.
        witnesses: by name, in the file's order.
        groups: by name, in the file's order: members stand before the group that has them.
        quorum: the name of the witness or group that is asked for, `none` for nothing.
    """

    logs: tuple[VerifierKey, ...]
    witnesses: dict[str, Witness]
    groups: dict[str, Group]
    quorum: str

    def log_key(self, note: Note | None) -> VerifierKey | None:
        """Returns the key of the log that a note is by, or says it is; else the first one, None without logs."""
        if note is not None:
            signed = {(line.name, line.key_id) for line in note.signatures}
            by = [key for key in self.logs if (key.name, key.key_id) in signed]
            named = [key for key in self.logs if note.text.startswith(f"{key.name}\n")]
            return next(iter([*by, *named, *self.logs]), None)
        return self.logs[0] if self.logs else None

    def time(self, cosigned: Mapping[str, int]) -> int | None:
        """Returns the quorum's time: the greatest at which, and later, cosignatures enough were made.

        Args:
            cosigned: when each witness that has cosigned did so, by its name in the policy.

        Returns:
            POSIX seconds, 0 for the quorum `none`; None where the quorum does not hold.
        """
        times: dict[str, int] = {NONE: 0, **{name: cosigned[name] for name in self.witnesses if name in cosigned}}
        for group in self.groups.values():
            latest = sorted((times[name] for name in group.members if name in times), reverse=True)
            if len(latest) >= group.needed:
                times[group.name] = latest[group.needed - 1]
        return times.get(self.quorum)

    def counts(self, cosigned: Mapping[str, int]) -> tuple[int, int]:
        """Returns how many cosignatures the quorum asks for at the least, and how many of those are there."""
        costs = {NONE: (0, 0), **{name: (1, int(name not in cosigned)) for name in self.witnesses}}
        for group in self.groups.values():
            asked, lacking = (
                sum(sorted(costs[name][which] for name in group.members)[: group.needed]) for which in (0, 1)
            )
            costs[group.name] = (asked, lacking)
        asked, lacking = costs[self.quorum]
        return asked, asked - lacking

    def quorum_witnesses(self) -> list[str]:
        """Returns the names of the witnesses that count towards the quorum, in the file's order."""
        under, wanted = {self.quorum}, set[str]()
        while under:
            wanted |= under
            under = {member for name in under if name in self.groups for member in self.groups[name].members}
        return [name for name in self.witnesses if name in wanted]


def parse(data: bytes) -> Policy:
    """Reads a policy file.

    Raises:
        FormatError: it is none; the message names the line.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError("a policy is text in UTF-8, and this is none") from None
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if _CONTROL.search(line):
                raise FormatError(f"it holds the control character {_CONTROL.findall(line)[0]!a}")
            words = re.findall(r"[^ \t]+", line)
            if words and not words[0].startswith("#"):
                reader.take(words)
        except FormatError as error:
            raise FormatError(f"line {number} of the policy: {error}") from None
    if reader.quorum is None:
        raise FormatError("the policy has no `quorum` line")
    return Policy(tuple(reader.logs), reader.witnesses, reader.groups, reader.quorum)


@dataclass(slots=True)
class _Reader:
    """What the lines so far say."""

    logs: list[VerifierKey] = field(default_factory=list)
    witnesses: dict[str, Witness] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    quorum: str | None = None
    _publics: set[bytes] = field(default_factory=set)
    _grouped: set[str] = field(default_factory=set)

    def take(self, words: list[str]) -> None:
        takers: dict[str, tuple[Callable[[list[str]], None], int, int | None, str]] = {
            "log": (self._log, 1, 2, "<verifier key> [<url>]"),
            "witness": (self._witness, 2, 3, "<name> <verifier key> [<url>]"),
            "group": (self._group, 3, None, "<name> <k|any|all> <name> ..."),
            "quorum": (self._quorum, 1, 1, "<name|none>"),
        }
        word, *rest = words
        if word not in takers:
            raise FormatError(f"{word!a} is none of {', '.join(takers)}")
        taker, fewest, most, form = takers[word]
        if len(rest) < fewest or (most is not None and len(rest) > most):
            raise FormatError(f"expected `{word} {form}`")
        taker(rest)

    def _log(self, rest: list[str]) -> None:
        key = VerifierKey.parse(rest[0])
        self._new_key(key.public)
        self.logs.append(key)

    def _witness(self, rest: list[str]) -> None:
        name = self._new_name(rest[0])
        key = WitnessKey.parse(rest[1])
        self._new_key(key.public)
        self.witnesses[name] = Witness(name, key, rest[2] if len(rest) > 2 else None)

    def _group(self, rest: list[str]) -> None:
        name = self._new_name(rest[0])
        members = tuple(self._known(member) for member in rest[2:])
        for member in members:
            if member in self._grouped:
                raise FormatError(f"{member!a} is a member already, and may be one once")
            self._grouped.add(member)
        self.groups[name] = Group(name, _needed(rest[1], len(members)), members)

    def _quorum(self, rest: list[str]) -> None:
        if self.quorum is not None:
            raise FormatError("there is a `quorum` line already")
        self.quorum = rest[0] if rest[0] == NONE else self._known(rest[0])

    def _new_name(self, name: str) -> str:
        if name == NONE:
            raise FormatError("`none` is no name")
        if name in self.witnesses or name in self.groups:
            raise FormatError(f"the name {name!a} is taken")
        return name

    def _known(self, name: str) -> str:
        if name not in self.witnesses and name not in self.groups:
            raise FormatError(f"no witness and no group before this line has the name {name!a}")
        return name

    def _new_key(self, public: bytes) -> None:
        if public in self._publics:
            raise FormatError("another line has the same public key")
        self._publics.add(public)


def _needed(word: str, members: int) -> int:
    if word in ("any", "all"):
        return 1 if word == "any" else members
    if not _NUMBER.fullmatch(word) or int(word) > members:
        raise FormatError(f"at least {word!a} of {members}: expected a number from 1 to {members}, any or all")
    return int(word)
