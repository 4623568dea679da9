"""Counts and numbers in texts that people read."""


def count_of(count: int, noun: str) -> str:
    """
    >>> [count_of(1, "plan"), count_of(0, "plan"), count_of(1200, "topology"), count_of(2, "day")]
    ['1 plan', '0 plans', '1,200 topologies', '2 days']
    """
    if count == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{count:,} {plural}"


def rounded(value: float, digits: int = 3) -> str:
    """`digits` significant digits, and all digits before the point: no exponent for large numbers.

    >>> [rounded(value, 2) for value in (0.314, 6.46, 47.4, 99.9, 234.2, 1430.0, 0.0, float("inf"))]
    ['0.31', '6.5', '47', '100', '234', '1,430', '0', 'inf']
    """
    return f"{value:.{digits}g}" if abs(value) < 10**digits - 0.5 else f"{value:,.0f}"


def sized(gib: float) -> str:
    """An amount of state or memory in the unit that suits it.

    >>> [sized(gib) for gib in (0.0, 1.33e-05, 0.25, 6.0, 1250.0)]
    ['0 GiB', '13.9 KiB', '256 MiB', '6 GiB', '1,250 GiB']
    """
    for unit, of_gib in (("GiB", 1.0), ("MiB", 2.0**10)):
        if gib == 0 or gib * of_gib >= 1:
            return f"{rounded(gib * of_gib)} {unit}"
    return f"{rounded(gib * 2.0**20)} KiB"
