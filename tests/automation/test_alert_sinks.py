"""The webhook and the mail sink against servers on this machine."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope
from pytest_httpserver import HTTPServer

from workday_assets.alerts.incidents import Alert, Incident
from workday_assets.alerts.sinks import Security, SinkError, mail, webhook
from workday_assets.errors import InvalidInputError

INCIDENT = Incident(
    "late 2026-12-01",
    "late",
    "2026-12-01 is late",
    "ecb/reference_rates: due 2026-12-02 09:00 CET.",
    ("ecb/reference_rates",),
    ("2026-12-01",),
    7,
)
TOLD, CLEARED = Alert(INCIDENT, cleared=False), Alert(INCIDENT, cleared=True)
SECRET = "T0p/S3cret"  # noqa: S105 - a made-up one


def test_webhook(httpserver: HTTPServer) -> None:
    """Both messages are JSON with a text for chats, and each has its own key."""
    httpserver.expect_request("/hook", method="POST").respond_with_data("ok")
    send = webhook(httpserver.url_for("/hook"))
    for alert in (TOLD, TOLD, CLEARED):
        send(alert)
    requests = [request for request, _ in httpserver.log]
    bodies = [json.loads(request.data) for request in requests]
    common = {
        "incident": "late 2026-12-01",
        "kind": "late",
        "assets": ["ecb/reference_rates"],
        "partitions": ["2026-12-01"],
    }
    told = {
        "text": "2026-12-01 is late\necb/reference_rates: due 2026-12-02 09:00 CET.",
        "title": "2026-12-01 is late",
        "state": "open",
        **common,
    }
    cleared = {
        "text": "Cleared: 2026-12-01 is late\n"
        "It is over. It was: ecb/reference_rates: due 2026-12-02 09:00 CET.",
        "title": "Cleared: 2026-12-01 is late",
        "state": "cleared",
        **common,
    }
    assert bodies == [told, told, cleared]
    keys = [request.headers["Idempotency-Key"] for request in requests]
    assert keys[0] == keys[1] != keys[2]


def test_webhook_from_the_environment(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address is read when a message is sent."""
    httpserver.expect_oneshot_request("/hook").respond_with_data("ok")
    send = webhook(dg.EnvVar("ALERT_HOOK"))
    monkeypatch.setenv("ALERT_HOOK", httpserver.url_for("/hook"))
    send(TOLD)
    assert len(httpserver.log) == 1


def test_webhook_that_is_not_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable that should hold the address."""
    monkeypatch.delenv("ALERT_HOOK", raising=False)
    with pytest.raises(SinkError, match=r"^environment variable ALERT_HOOK is not set$"):
        webhook(dg.EnvVar("ALERT_HOOK"))(TOLD)


@pytest.mark.parametrize("status", [302, 404, 429, 503])
def test_webhook_that_refuses(httpserver: HTTPServer, status: int) -> None:
    """Any answer but success is an error, which does not name the address."""
    httpserver.expect_request(f"/{SECRET}").respond_with_data("no", status)
    with pytest.raises(SinkError) as caught:
        webhook(httpserver.url_for(f"/{SECRET}"))(TOLD)
    assert str(caught.value) == f"the webhook answers {status}"


@pytest.mark.parametrize(
    ("url", "error"),
    [
        pytest.param(f"http://127.0.0.1:1/{SECRET}", "ConnectError", id="nobody-there"),
        pytest.param(f"ftp://host/{SECRET}", "UnsupportedProtocol", id="ftp"),
    ],
)
def test_webhook_that_cannot_be_reached(url: str, error: str) -> None:
    """The error names its kind and no address."""
    with pytest.raises(SinkError) as caught:
        webhook(url)(TOLD)
    assert str(caught.value) == f"the webhook cannot be reached, {error}"
    assert caught.value.__suppress_context__


def test_webhook_that_hangs() -> None:
    """A server that takes the connection and says nothing holds a tick up for the time-out."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(SinkError, match="ReadTimeout"):
            webhook(url, timeout_seconds=0.2)(TOLD)


class Mailbox:
    """Takes mail; refuses one recipient."""

    def __init__(self) -> None:
        self.taken: list[Message] = []
        self.logins: list[tuple[bytes, bytes]] = []

    async def handle_RCPT(  # noqa: N802 - the library's name
        self, _server: Any, _session: Any, envelope: Envelope, address: str, _options: Any
    ) -> str:
        """Refuse whoever is called nobody."""
        if address.startswith("nobody"):
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Envelope) -> str:  # noqa: N802
        """Keep the message."""
        assert isinstance(envelope.content, bytes)
        self.taken.append(message_from_bytes(envelope.content))
        return "250 OK"

    def authenticate(
        self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any
    ) -> AuthResult:
        """Let in whoever knows the secret."""
        self.logins.append((data.login, data.password))
        return AuthResult(success=data.password == SECRET.encode(), handled=False)


class FreePort(Controller):
    """A server on a port that the system chooses."""

    def _trigger_server(self) -> None:
        assert self.server is not None
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@contextmanager
def served(mailbox: Mailbox, **options: Any) -> Iterator[int]:
    """The port of a mail server that fills `mailbox`."""
    server = FreePort(mailbox, hostname="127.0.0.1", port=0, **options)
    server.start()
    try:
        yield server.port
    finally:
        server.stop()


@pytest.fixture
def mailbox() -> Mailbox:
    """Where mail arrives."""
    return Mailbox()


@pytest.fixture
def certified() -> ssl.SSLContext:
    """A server's side of TLS, with a certificate that nobody trusts yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """The same, with a certificate that this process trusts."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


def test_mail(mailbox: Mailbox) -> None:
    """The message that clears an incident answers the one that told it."""
    with served(mailbox) as port:
        send = mail(
            "127.0.0.1",
            "data@bank.example",
            ["desk@bank.example", "ops@bank.example"],
            port=port,
            security="none",
        )
        for alert in (TOLD, TOLD, CLEARED):
            send(alert)
    told, again, cleared = mailbox.taken
    assert (told["Subject"], told["From"]) == ("2026-12-01 is late", "data@bank.example")
    assert told["To"] == "desk@bank.example, ops@bank.example"
    assert str(told.get_payload()).strip() == "ecb/reference_rates: due 2026-12-02 09:00 CET."
    assert told["Message-ID"] == again["Message-ID"] != cleared["Message-ID"]
    assert cleared["Subject"] == "Cleared: 2026-12-01 is late"
    assert cleared["In-Reply-To"] == told["Message-ID"]


@pytest.mark.parametrize("security", ["starttls", "tls"])
@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")  # TLS from the start
def test_mail_with_a_password(
    mailbox: Mailbox,
    trusted: ssl.SSLContext,
    monkeypatch: pytest.MonkeyPatch,
    security: Security,
) -> None:
    """The password comes from the environment and travels encrypted."""
    monkeypatch.setenv("MAIL_PASSWORD", SECRET)
    kind = {"tls_context": trusted} if security == "starttls" else {"ssl_context": trusted}
    options: dict[str, Any] = {
        **kind,
        "authenticator": mailbox.authenticate,
        "auth_required": True,
        "auth_require_tls": security == "starttls",
    }
    with served(mailbox, **options) as port:
        mail(
            "127.0.0.1",
            "data@bank.example",
            ["desk@bank.example"],
            port=port,
            security=security,
            user="data",
            password=dg.EnvVar("MAIL_PASSWORD"),
        )(TOLD)
    assert mailbox.logins == [(b"data", SECRET.encode())]
    assert [message["Subject"] for message in mailbox.taken] == ["2026-12-01 is late"]


def test_mail_with_a_wrong_password(mailbox: Mailbox, trusted: ssl.SSLContext) -> None:
    """The error gives the server's code, and neither the password nor what the server says."""
    with (
        served(mailbox, tls_context=trusted, authenticator=mailbox.authenticate) as port,
        pytest.raises(SinkError, match=r"SMTPAuthenticationError 535$") as caught,
    ):
        mail("127.0.0.1", "a@b.example", ["c@d.example"], port=port, user="x", password="wrong")(  # noqa: S106
            TOLD
        )
    assert "wrong" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_mail_to_a_server_that_nobody_vouches_for(
    mailbox: Mailbox, certified: ssl.SSLContext
) -> None:
    """Nothing is sent, the password least of all."""
    with (
        served(mailbox, tls_context=certified, authenticator=mailbox.authenticate) as port,
        pytest.raises(SinkError, match="SSLCertVerificationError"),
    ):
        mail("127.0.0.1", "a@b.example", ["c@d.example"], port=port, user="x", password=SECRET)(
            TOLD
        )
    assert (mailbox.logins, mailbox.taken) == ([], [])


def test_mail_to_nobody(mailbox: Mailbox) -> None:
    """A refused recipient is an error, though the others got it; nobody at home is one too."""
    with served(mailbox) as port:
        send = mail(
            "127.0.0.1",
            "a@b.example",
            ["desk@d.example", "nobody@d.example"],
            port=port,
            security="none",
        )
        with pytest.raises(SinkError, match=r"refuses nobody@d\.example"):
            send(TOLD)
    with pytest.raises(SinkError, match="ConnectionRefusedError"):
        send(TOLD)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"recipients": []}, "is nobody", id="nobody"),
        pytest.param(
            {"recipients": ["a@b.example"], "security": "none", "user": "x", "password": "y"},
            "in the clear",
            id="password-in-the-clear",
        ),
        pytest.param(
            {"recipients": ["a@b.example"], "user": "x"}, "belong together", id="no-password"
        ),
    ],
)
def test_refused_mail(options: dict[str, Any], message: str) -> None:
    """What cannot be right is refused before anything is sent."""
    with pytest.raises(InvalidInputError, match=message):
        mail("localhost", "data@bank.example", **options)


def test_a_title_cannot_add_headers(mailbox: Mailbox) -> None:
    """A line break in what a source says stays in the subject as a space."""
    broken = Incident("source x", "source_down", "x is down\r\nBcc: all@d.example", "")
    with served(mailbox) as port:
        mail("127.0.0.1", "a@b.example", ["c@d.example"], port=port, security="none")(
            Alert(broken, cleared=False)
        )
    (taken,) = mailbox.taken
    assert (taken["Subject"], taken["Bcc"]) == ("x is down Bcc: all@d.example", None)
