"""One real Kafka broker for all tests of this folder."""

import os
from collections.abc import Iterator

import pytest
from kafka_broker import KafkaBroker, KafkaBrokerError, kafka_broker, kafka_jars
from kafka_messages import Messages


@pytest.fixture(scope="package")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Without a broker to start, tests are skipped with the reason, but fail where CI=true."""
    try:
        kafka_jars()
    except KafkaBrokerError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    with kafka_broker(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture
def messages(broker: KafkaBroker) -> Messages:
    return Messages(broker)
