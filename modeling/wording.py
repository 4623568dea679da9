"""How counts are told, in every text that people read."""


def count_of(count: int, noun: str) -> str:
    """
    >>> [count_of(1, "plan"), count_of(0, "plan"), count_of(1200, "topology"), count_of(2, "day")]
    ['1 plan', '0 plans', '1,200 topologies', '2 days']
    """
    if count == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{count:,} {plural}"
