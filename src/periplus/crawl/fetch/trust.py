"""Whose certificates are believed: a file of the owner's choice, or what the system trusts.

The libcurl inside a Python wheel was built on another machine and may look for authorities where there are none, so the
file is always named: the one that Python's own TLS would use (which obeys `SSL_CERT_FILE`), a usual place of the common
systems, or that of the package certifi.
"""

from __future__ import annotations

import ssl
from functools import cache
from pathlib import Path
from typing import Final

import certifi

from periplus.model import ConfigError

_USUAL: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian and its family
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora and its family
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # Alpine, BSD, macOS
)


@cache
def authorities(chosen: str = "") -> str:
    """The file to trust."""
    if chosen:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(chosen)
        except OSError as error:
            message = f"ca_file: {chosen} cannot be used: {error.strerror or error}"
            raise ConfigError(message, hint="Name a file of certificates in PEM") from error
        return chosen
    for path in (ssl.get_default_verify_paths().cafile, *_USUAL):
        if path and Path(path).is_file():
            return path
    return certifi.where()
