"""Fetches a file over http or https, with retries, a time limit and a size limit.

No error and no retry log names the credentials or the query of an address.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from workday_assets.errors import InvalidInputError, SourceUnavailableError

if TYPE_CHECKING:
    import httpx

#: The ECB's zip file is 0.7 MB after 28 years.
MAX_DOWNLOAD_BYTES = 16 * 1024 * 1024

_ATTEMPTS = 5
_TRANSIENT_STATUS = frozenset({408, 425, 429, *range(500, 600)})


class _TransientError(Exception):
    """Worth another attempt; its text is safe to show."""


def public_address(url: str) -> str:
    """`url` without user, password, query and fragment."""
    address = _address(url)
    port = f":{address.port}" if address.port else ""
    return f"{address.scheme}://{address.host}{port}{address.path}"


def download(url: str, timeout: float) -> bytes:
    """The content at `url`, complete.

    Answers 408, 425, 429 and 5xx, lost connections and time-outs are tried again, five attempts
    in all, with growing pauses.

    Args:
        url: an http or https address; it may carry credentials.
        timeout: seconds for one attempt, from the connection to the last byte.

    Raises:
        InvalidInputError: the address is not http or https.
        SourceUnavailableError: no good answer, or one larger than `MAX_DOWNLOAD_BYTES`.
    """
    import stamina

    shown = public_address(url)
    try:
        for attempt in stamina.retry_context(on=_TransientError, attempts=_ATTEMPTS, timeout=None):
            with attempt:
                return _attempt(url, shown, timeout)
    except _TransientError as error:
        why = f"{error}, also after retries; try later, or configure `path`."
        raise SourceUnavailableError(shown, why) from None
    raise AssertionError("a retry loop ends with an answer or an error")


def _attempt(url: str, shown: str, timeout: float) -> bytes:
    import httpx

    address = _address(url)
    auth = (address.username, address.password) if address.userinfo else None
    deadline = monotonic() + timeout
    try:
        with (
            httpx.Client(timeout=timeout, follow_redirects=True, auth=auth) as client,
            client.stream("GET", address.copy_with(userinfo=b"")) as response,
        ):
            if response.status_code in _TRANSIENT_STATUS:
                raise _TransientError(f"the server answers {response.status_code}")
            if response.status_code != httpx.codes.OK:
                why = f"the server answers {response.status_code}; check the address."
                raise SourceUnavailableError(shown, why)
            return _body(response, shown, deadline)
    except httpx.TimeoutException:
        raise _TransientError(f"no answer within {timeout:g} s") from None
    except httpx.HTTPError as error:
        raise _TransientError(f"the connection failed ({type(error).__name__})") from None


def _body(response: httpx.Response, shown: str, deadline: float) -> bytes:
    content = bytearray()
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > MAX_DOWNLOAD_BYTES:
            why = f"the answer is larger than the limit of {MAX_DOWNLOAD_BYTES} bytes."
            raise SourceUnavailableError(shown, why)
        if monotonic() > deadline:
            raise _TransientError("the answer did not end in time")
    return bytes(content)


def _address(url: str) -> httpx.URL:
    try:
        import httpx
        import stamina  # noqa: F401 - asked for together, so that one sentence names the cure
    except ModuleNotFoundError as error:
        why = f"package {error.name} is missing; install 'workday-assets[ecb]'."
        raise SourceUnavailableError("url", why) from error
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        raise InvalidInputError("url is not a valid address; give http://… or https://…") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise InvalidInputError(
            f"url has the scheme {address.scheme!r}; give an address like https://host/path."
        )
    return address
