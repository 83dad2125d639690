"""The file for `ray up` in the docs is one that Ray accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


def test_the_cluster_of_the_docs_is_a_cluster() -> None:
    """Ray's own check of it, with defaults filled in as `ray up` does."""
    pytest.importorskip("ray", reason="the cluster is an extra: pip install periplus-ray")
    import yaml
    from ray.autoscaler._private.util import prepare_config, validate_config

    asked = yaml.safe_load((DOCS / "cluster.yaml").read_text())
    config = prepare_config(asked)
    validate_config(config)
    assert config["provider"]["head_ip"] == asked["provider"]["head_ip"]
