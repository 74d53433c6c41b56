"""All witnesses of a policy: asked at once, and what they hold against the log (WITNESS.md section 4)."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import structlog

from dealer.errors import CutcardError
from dealer.log.checkpoint import read_checkpoint
from dealer.log.cosignature import cosigned, with_lines
from dealer.log.note import NoteSigner, NoteVerifier
from dealer.log.policy import NONE, Policy, PolicyError
from dealer.service.settings import Witnessing
from dealer.service.witnesses.asking import Asker, Outcome
from dealer.service.witnesses.conflict import Conflict, History, RolledBackError, keep
from dealer.service.witnesses.http import Http
from dealer.service.witnesses.metrics import WitnessMetrics
from dealer.service.witnesses.shown import Shown

_log = structlog.get_logger()


def check_policy(policy: Policy, signer: NoteSigner) -> None:
    """Refuses a policy that a dealer cannot ask by.

    Raises:
        PolicyError: a witness has no url, or its logs are others.
    """
    for name in policy.witnesses:
        if not policy.urls.get(name, "").startswith(("http://", "https://")):
            raise PolicyError(f"the policy does not say where the witness {name} is asked: give its http(s) url")
    if policy.logs and signer.verifier_key not in policy.logs:
        raise PolicyError(f"the policy's log lines name others than {signer.verifier_key}: whose policy is it?")


class Witnesses:
    """Asks the witnesses of a policy. It belongs to the loop.

    Attributes:
        settings: pace and patience.
        conflict: what is held against the log, once that is found; it stays.
    """

    def __init__(
        self,
        settings: Witnessing,
        signer: NoteSigner,
        history: History,
        metrics: WitnessMetrics,
        folder: Path,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Asks nothing yet.

        Args:
            settings: the policy, pace and patience.
            signer: the log's.
            history: what the log holds.
            metrics: what counts.
            folder: where evidence is kept.
            clock: gives POSIX seconds.

        Raises:
            PolicyError: the policy is not for this log, or does not say where to ask.
        """
        policy = settings.policy
        check_policy(policy, signer)
        self.settings, self._policy, self._folder, self._history = settings, policy, folder, history
        self._key, self._metrics, self._clock = signer.verifier_key, metrics, clock
        self.conflict: Conflict | None = None
        self._claims: dict[str, Conflict] = {}
        self._asked_at = float("-inf")
        self._http = Http()
        self._turn = asyncio.Lock()  # one request at a time goes to a witness
        verifier = NoteVerifier.parse(signer.verifier_key)
        self._askers = [
            Asker(name, key, policy.urls[name], verifier, self._http, history, metrics, clock, settings.seconds)
            for name, key in policy.witnesses.items()
        ]

    async def close(self) -> None:
        """Lets go of the connections."""
        await self._http.close()

    async def start_up(self, published: str) -> None:
        """Asks every witness what it holds of this log, before anything of it is served.

        Args:
            published: the newest published checkpoint, for witnesses that do not tell what they hold.

        Raises:
            RolledBackError: this log's key has signed what does not fit, or witnesses that make the quorum say so.
        """
        bare = with_lines(published, {})
        async with self._turn:
            await self._all([(asker, asker.look(bare)) for asker in self._askers])
        if self.conflict is not None:
            if self.conflict.proved:
                kept = f"Both checkpoints: {self._folder}"
            else:
                kept = "Witnesses that make the quorum say so, and show no checkpoint: ask who runs them what they hold"
            raise RolledBackError(
                f"{self.conflict.detail}: the log was rolled back, or its key is in use elsewhere. Put the newest "
                "database back; if there is none, this log has ended: start another with `dealer init` "
                f"(docs/operations.md, Restoring a backup). {kept}"
            )

    async def cosign(self, note: str, before: Shown | None, seconds: float | None = None) -> Shown:
        """Shows a checkpoint to all witnesses at once, and takes what comes in time.

        Args:
            note: the signed checkpoint. What its tree needs is in place, and it is durable.
            before: what was published last. Of the same tree nothing is lost, and with a quorum nobody is asked anew
                before it is time to refresh it.
            seconds: how long to wait; as the settings have it if it is not given.
        """
        if before is not None and read_checkpoint(before.note) == read_checkpoint(note) and self._is_fresh(before):
            return before
        bare = with_lines(note, {})
        async with self._turn:
            self._asked_at = now = time.monotonic()
            due = [(asker, asker.show(bare)) for asker in self._askers if asker.not_before <= now]
            outcomes = await self._all(due, seconds)
        kept = [] if before is None else [before.note]
        lines = [outcome.cosigned for outcome in outcomes if outcome.cosigned is not None]
        return self.judged(with_lines(bare, self._policy.witnesses, *kept, *lines))

    def _is_fresh(self, shown: Shown) -> bool:
        """Whether a checkpoint's quorum is younger than the pace of refreshing."""
        if shown.since is None:
            return False
        none = self._policy.quorum == NONE
        age = time.monotonic() - self._asked_at if none else self._clock() - shown.since
        return age < self.settings.refresh

    def judged(self, note: str) -> Shown:
        """Returns a checkpoint as it is to be published: with the quorum's time, if it holds."""
        return Shown(note, self._policy.time(cosigned(note, self._policy.witnesses)))

    def note_quorum(self, shown: Shown) -> None:
        """Measures a checkpoint that is durable with its cosignatures."""
        if shown.since is not None and self._policy.quorum != NONE:
            self._metrics.quorum_time = shown.since
            self._metrics.entries.set(read_checkpoint(shown.note).size)

    async def _all(
        self, asked: Sequence[tuple[Asker, Coroutine[Any, Any, Outcome]]], seconds: float | None = None
    ) -> list[Outcome]:
        """Asks at once; who has not answered in time is let go. What is held against the log is taken note of."""
        tasks = {asyncio.ensure_future(question): asker for asker, question in asked}
        if not tasks:
            return []
        done, late = await asyncio.wait(tasks, timeout=self.settings.timeout if seconds is None else seconds)
        for task in late:
            task.cancel()
            tasks[task].too_slow()
        await asyncio.gather(*late, return_exceptions=True)
        outcomes = []
        for task in done:
            if (error := task.exception()) is not None:
                said = str(error) if isinstance(error, CutcardError) else type(error).__name__
                _log.error("a witness could not be asked", witness=tasks[task].name, error=said)
                continue
            outcomes.append(task.result())
            self._weigh(tasks[task].name, task.result())
        return outcomes

    def _weigh(self, name: str, outcome: Outcome) -> None:
        """Takes note of what a witness holds against the log: proof by itself, a claim once a quorum makes it."""
        if outcome.conflict is None:
            if outcome.reached:
                self._claims.pop(name, None)
            return
        if not outcome.conflict.proved:
            if name not in self._claims:
                _log.warning("a witness contradicts this log, and shows no proof", why=outcome.conflict.detail)
            self._claims[name] = outcome.conflict
            if self._policy.quorum == NONE or self._policy.time(dict.fromkeys(self._claims, 1)) is None:
                return
        if self.conflict is None:
            self.conflict = outcome.conflict
            self._metrics.conflict.set(1)
            where = keep(outcome.conflict, self._key, self._folder)
            _log.critical(
                "witnesses hold another history of this log: it was rolled back, or its key is in use elsewhere",
                why=outcome.conflict.detail,
                ours=outcome.conflict.ours,
                theirs=outcome.conflict.theirs,
                evidence=None if where is None else str(where),
            )
