"""Where alerts go: a webhook, or mail.

No error names the address of a webhook, which is often a secret, or a password.
"""

from __future__ import annotations

import hashlib
import smtplib
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from typing import Literal

import dagster as dg

from workday_assets.alerts.incidents import Alert, Send
from workday_assets.errors import InvalidInputError

Security = Literal["none", "starttls", "tls"]
_TIMEOUT_SECONDS = 10.0


class SinkError(ValueError):
    """A sink did not take a message; its text names no secret."""


def webhook(url: str, *, timeout_seconds: float = _TIMEOUT_SECONDS) -> Send:
    """Sends each alert as a JSON object by POST; answers of 200 to 299 are success.

    ``text`` is what Slack, Mattermost and Microsoft Teams' workflows show. Besides there are
    ``incident``, ``kind``, ``state`` (``open`` or ``cleared``), ``title``, ``assets`` and
    ``partitions``, and the header ``Idempotency-Key``: equal when a message is sent twice.

    Args:
        url: http or https; a `dagster.EnvVar` keeps it out of the code.
        timeout_seconds: for the connection, and between two parts of the answer.

    Raises:
        InvalidInputError: package httpx is missing.
    """
    try:
        import httpx
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            "url: webhooks need package httpx; install 'workday-assets[alerts]'."
        ) from error

    def send(alert: Alert) -> None:
        incident = alert.incident
        body = {
            "text": f"{alert.title}\n{alert.text}",
            "incident": incident.id,
            "kind": incident.kind,
            "state": "cleared" if alert.cleared else "open",
            "title": alert.title,
            "assets": list(incident.assets),
            "partitions": list(incident.partitions),
        }
        headers = {"Idempotency-Key": _digest(alert.key)}
        address = _value(url)
        try:
            answer = httpx.post(address, json=body, headers=headers, timeout=timeout_seconds)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SinkError(f"the webhook cannot be reached, {type(error).__name__}") from None
        if not answer.is_success:
            raise SinkError(f"the webhook answers {answer.status_code}")

    return send


def mail(
    host: str,
    sender: str,
    recipients: Sequence[str],
    *,
    port: int = 587,
    security: Security = "starttls",
    user: str | None = None,
    password: str | None = None,
    timeout_seconds: float = _TIMEOUT_SECONDS,
) -> Send:
    """Sends each alert by SMTP; the message that clears an incident answers the one that told it.

    Args:
        host: the mail server.
        sender: the address it comes from.
        recipients: the addresses it goes to, at least one.
        port: 587 by default, with ``tls`` usually 465.
        security: ``starttls``, ``tls`` from the start, or ``none`` for a server on this machine.
        user: name to log in with; `None` does not log in.
        password: the user's, as is, or a `dagster.EnvVar`, which keeps it out of the code.
        timeout_seconds: for each answer of the server.

    Raises:
        InvalidInputError: no recipients, a user without a password, or a password that would be
            sent in the clear.
    """
    if not recipients:
        raise InvalidInputError("recipients=[] is nobody; give at least one address.")
    if (user is None) != (password is None):
        raise InvalidInputError("user and password belong together; give both, or neither.")
    if security == "none" and user is not None:
        raise InvalidInputError(
            "security='none' would send the password in the clear; give 'starttls' or 'tls'."
        )

    def send(alert: Alert) -> None:
        message = _message(alert, sender, recipients)
        secret = _value(password) if password is not None else ""
        try:
            with _connected(host, port, security, timeout_seconds) as server:
                if user is not None:
                    server.login(user, secret)
                refused = server.send_message(message)
        except (smtplib.SMTPException, OSError) as error:
            raise SinkError(f"mail server {host}:{port}, {_said(error)}") from None
        if refused:
            raise SinkError(f"mail server {host}:{port} refuses {', '.join(sorted(refused))}")

    return send


def _connected(host: str, port: int, security: Security, timeout: float) -> smtplib.SMTP:
    if security == "tls":
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(host, port, timeout=timeout, context=context)
    server = smtplib.SMTP(host, port, timeout=timeout)
    if security == "starttls":
        server.starttls(context=ssl.create_default_context())
    return server


def _message(alert: Alert, sender: str, recipients: Sequence[str]) -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = " ".join(alert.title.split())
    message["From"] = sender
    message["To"] = ", ".join(recipients)
    message["Message-ID"] = _message_id(alert)
    if alert.cleared:
        told = _message_id(Alert(alert.incident, cleared=False))
        message["In-Reply-To"] = message["References"] = told
    message.set_content(alert.text)
    return message


def _message_id(alert: Alert) -> str:
    return f"<{_digest(alert.key)}@workday-assets>"


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def _value(text: str) -> str:
    """A text, or what the environment variable holds that it names."""
    value = text.get_value() if isinstance(text, dg.EnvVar) else text
    if not value:
        name = text.env_var_name if isinstance(text, dg.EnvVar) else ""
        raise SinkError(f"environment variable {name} is not set" if name else "it is empty")
    return value


def _said(error: Exception) -> str:
    """The kind of error, and an SMTP code; what the server says might repeat what it was sent."""
    code = getattr(error, "smtp_code", None)
    return f"{type(error).__name__}{f' {code}' if code else ''}"
