"""Whether the tests of this folder have a cluster."""

import pytest

from tests.citus import cluster


def test_a_cluster_is_named() -> None:
    if cluster.URL is None:
        pytest.skip("BUILDERS_TEST_CITUS_URL names no coordinator, so no test of tests/citus runs")
    assert len(cluster.list_nodes(cluster.URL)) >= 3, "a coordinator and two worker nodes"
