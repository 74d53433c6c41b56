"""HTTP as it is spoken with witnesses: short bodies, no redirects, no cookies, and nothing of an answer is believed."""

from dataclasses import dataclass

import aiohttp

_MOST_BODY = 64 * 1024


class NoAnswerError(Exception):
    """A witness did not answer, or not in HTTP, or with more than is read; the text says what was wrong."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a witness answered: the status, the media type without parameters, and the body."""

    status: int
    kind: str
    body: bytes


class Http:
    """Asks over connections that are kept. It belongs to the loop on which it is first used."""

    def __init__(self) -> None:
        """Opens nothing yet."""
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, url: str, body: bytes | None = None) -> Reply:
        """Posts a body, or gets where there is none. It has no deadline of its own: who asks cancels it.

        Raises:
            NoAnswerError: there is no answer that can be read.
        """
        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
                headers={"Accept-Encoding": "identity"},
            )
        method = "GET" if body is None else "POST"
        try:
            async with self._session.request(method, url, data=body, allow_redirects=False) as answer:
                read = bytearray()
                async for part in answer.content.iter_any():
                    read += part
                    if len(read) > _MOST_BODY:
                        raise NoAnswerError(f"a body of more than {_MOST_BODY} bytes")
                kind = str(answer.headers.get("Content-Type", "")).partition(";")[0].strip().lower()
                return Reply(int(answer.status), kind, bytes(read))
        except (aiohttp.InvalidURL, ValueError) as error:
            raise NoAnswerError(type(error).__name__) from None  # its text is the address, which may hold a password
        except (aiohttp.ClientError, OSError) as error:
            raise NoAnswerError(f"{type(error).__name__}: {error}") from None

    async def close(self) -> None:
        """Lets go of the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
