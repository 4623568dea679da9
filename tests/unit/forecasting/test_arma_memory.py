"""ARMA(2,1) errors: how they are fitted, held to statsmodels; and how they go on, held to their equation."""

import numpy as np
import pytest
from scipy.signal import lfilter
from statsmodels.tsa.arima.estimators.innovations import innovations_mle

from forecasting.models.harmonic_arima_forecaster import MAX_ROOT, ArmaMemory, arma_memory

PROCESSES = [(0.6, 0.2, 0.3), (1.2, -0.4, 0.2), (0.3, 0.5, -0.4), (0.9, 0.05, -0.5)]


def simulated(ar1: float, ar2: float, ma1: float, size: int, seed: int = 1, burn_in: int = 500) -> np.ndarray:
    """Errors of the process with shocks of size one, from its stationary course."""
    shocks = np.random.default_rng(seed).normal(size=size + burn_in)
    return np.asarray(lfilter([1.0, ma1], [1.0, -ar1, -ar2], shocks)[burn_in:])


def responses(ar1: float, ar2: float, ma1: float, count: int) -> np.ndarray:
    """What a shock of one adds to its own error and to those that follow, by the equation."""
    psi = [1.0, ar1 + ma1]
    for _ in range(count - 2):
        psi.append(ar1 * psi[-1] + ar2 * psi[-2])
    return np.array(psi)


@pytest.mark.parametrize("process", PROCESSES, ids=str)
@pytest.mark.slow
def test_the_fit__agrees_with_maximum_likelihood_within_the_sampling_error(process: tuple[float, float, float]) -> None:
    errors = simulated(*process, size=4000)
    memory = arma_memory(errors)
    exact = innovations_mle(errors, order=(2, 0, 1), demean=False)[0]
    # Parameters of ARMA(2,1) trade against each other; what they do, the responses, is told much better. Both fits
    # minimise the same squares but for the first few shocks of 4000: apart by far less than a standard error, which for
    # a parameter is at least 1 / sqrt(4000) = 0.016.
    given = responses(memory.ar1, memory.ar2, memory.ma1, 12)
    likeliest = responses(exact.ar_params[0], exact.ar_params[1], exact.ma_params[0], 12)
    assert np.abs(given - likeliest).max() < 0.016
    # Four standard errors, and responses have not more than twice those of the parameters.
    assert np.abs(given - responses(*process, 12)).max() < 8 * 0.016


def test_the_fit__of_white_noise_anticipates_next_to_nothing() -> None:
    memory = arma_memory(np.random.default_rng(3).normal(size=4000))
    # Ar and ma may cancel each other; the responses beyond the shock itself are estimates of 0 with 1 / sqrt(4000).
    assert np.abs(responses(memory.ar1, memory.ar2, memory.ma1, 12)[1:]).max() < 4 * 0.016


def test_the_fit__never_goes_on_for_ever() -> None:
    wandering = np.cumsum(np.random.default_rng(4).normal(size=3000))
    memory = arma_memory(wandering)
    roots = np.abs(np.roots([1.0, -memory.ar1, -memory.ar2]))
    assert roots.max() <= MAX_ROOT + 1e-9
    assert roots.max() > 0.9


@pytest.mark.parametrize("errors", [np.zeros(50), np.full(50, 3.0), np.tile([1.0, -1.0], 25)], ids=["0", "3", "±1"])
def test_the_fit__of_errors_without_chance_is_finite_and_does_not_explode(errors: np.ndarray) -> None:
    memory = arma_memory(errors)
    assert np.isfinite([memory.ar1, memory.ar2, memory.ma1]).all()
    assert np.abs(np.roots([1.0, -memory.ar1, -memory.ar2])).max(initial=0.0) <= MAX_ROOT + 1e-9
    assert np.abs(memory.anticipated(memory.states(errors)[[50]], 200)).max() <= 10 * max(1.0, np.abs(errors).max())


def states_by_hand(memory: ArmaMemory, errors: np.ndarray) -> np.ndarray:
    """One window after another: what comes is what was expected and a shock; nothing known, no shock."""
    last = before = shock = 0.0
    states = [(last, before, shock)]
    for error in errors:
        expected = memory.ar1 * last + memory.ar2 * before + memory.ma1 * shock
        came = expected if np.isnan(error) else float(error)
        last, before, shock = came, last, came - expected
        states.append((last, before, shock))
    return np.array(states)


@pytest.mark.parametrize("process", PROCESSES, ids=str)
@pytest.mark.parametrize("share_missing", [0.0, 0.05, 0.5, 0.95])
def test_the_states__are_those_of_the_recursion(process: tuple[float, float, float], share_missing: float) -> None:
    memory = ArmaMemory(*process)
    for seed in range(5):
        errors = simulated(*process, size=60, seed=seed)
        errors[np.random.default_rng(seed).random(60) < share_missing] = np.nan
        assert memory.states(errors) == pytest.approx(states_by_hand(memory, errors), abs=1e-9)


@pytest.mark.parametrize(
    "errors",
    [[2.0], [np.nan], [np.nan, 1.0], [1.0, np.nan], [np.nan] * 4, [1.0, np.nan, np.nan, 2.0, np.nan, 3.0, 4.0]],
    ids=str,
)
def test_the_states__of_gaps_at_the_edges_are_those_of_the_recursion(errors: list[float]) -> None:
    memory = ArmaMemory(0.5, 0.2, 0.3)
    given = np.array(errors, dtype=np.float64)
    assert memory.states(given) == pytest.approx(states_by_hand(memory, given))


@pytest.mark.parametrize("process", PROCESSES, ids=str)
def test_what_is_anticipated__is_the_mean_of_what_comes(process: tuple[float, float, float]) -> None:
    memory = ArmaMemory(*process)
    past, ahead, times = simulated(*process, size=40), 10, 4000
    past[20:25] = np.nan
    last, before, shock = states_by_hand(memory, past)[-1]
    rng = np.random.default_rng(6)
    came = np.zeros((times, ahead))
    came_last, came_before, came_shock = (np.full(times, value) for value in (last, before, shock))
    for step in range(ahead):
        shocks = rng.normal(size=times)
        error = memory.ar1 * came_last + memory.ar2 * came_before + shocks + memory.ma1 * came_shock
        came[:, step] = error
        came_last, came_before, came_shock = error, came_last, shocks
    anticipated = memory.anticipated(memory.states(past)[[past.size]], ahead)[0]
    # A step's errors have the variance of the squared responses up to it; its mean of 4000 has a 4000th of that.
    spread = np.sqrt(np.cumsum(np.square(responses(*process, ahead))) / times)
    assert (np.abs(came.mean(axis=0) - anticipated) < 4.5 * spread).all()


def test_what_is_anticipated_at_many_moments__is_what_is_anticipated_at_each() -> None:
    memory = ArmaMemory(0.6, 0.2, 0.3)
    errors = simulated(0.6, 0.2, 0.3, size=50)
    errors[[7, 8, 30]] = np.nan
    origins = np.array([1, 2, 8, 9, 31, 50])
    together = memory.anticipated(memory.states(errors)[origins], 6)
    for row, origin in enumerate(origins):
        # Only what came before an origin counts.
        alone = memory.anticipated(memory.states(errors[:origin])[[origin]], 6)[0]
        assert together[row] == pytest.approx(alone, abs=1e-12)
