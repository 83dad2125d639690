"""The certificate authorities to trust: a file that the owner names, or those of the system.

The libcurl inside a Python wheel was built on another machine and may look for the authorities in the wrong place, so
the file is always given: the one that Python's TLS would use (which honours `SSL_CERT_FILE`), a usual path of common
systems, or the one of the package certifi.
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
    """The path of the file of trusted authorities. Raises `ConfigError` if the chosen one cannot be used."""
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
