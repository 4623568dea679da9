"""Every forecaster keeps to the one contract."""

import pytest
from contract.forecaster_contract import ForecasterContract

from forecasting.forecaster import Forecaster
from forecasting.forecasters import all_forecasters


@pytest.fixture(params=all_forecasters(), ids=lambda forecaster: forecaster.name)
def forecaster(request: pytest.FixtureRequest) -> Forecaster:
    competitor: Forecaster = request.param
    return competitor


class TestEveryForecaster(ForecasterContract):
    pass
