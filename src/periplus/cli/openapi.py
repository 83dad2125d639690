"""`periplus openapi`: the description of the API of `periplus serve`, without starting it."""

from __future__ import annotations

import json

import click

from periplus.apps.serve.extra import check_installed


def openapi() -> None:
    """Print the API of `periplus serve` as an OpenAPI 3.1 document.

    Example: periplus openapi > periplus.json
    """
    check_installed()
    from periplus.apps.serve.app import described_api
    from periplus.bridges.agents.rest import AgentRoutes

    click.echo(json.dumps(described_api([AgentRoutes()]), indent=2))
