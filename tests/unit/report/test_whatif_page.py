"""What the page of evaluated plans shows, and what it does not let in."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from report_page import ReportPage
from sample_whatif import SIZED, evaluated, what_if

from forescale.files.atomic import write_whole
from forescale.report.kit.error import ReportError
from forescale.report.whatif.page import render_whatif_page
from forescale.report.whatif.whatif import WhatIf
from modeling.evaluate import evaluate
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.network import MeasuredLink, measured_network
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind
from modeling.rescaling.plan_change import PlanChange
from modeling.rescaling.rescale_model import declared_rescale

LATENCY, THROUGHPUT, UTILISATION, CORES, MEMORY = range(5)

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "<a href='javascript:alert(1)'>%{x}</a>",
)


@cache
def three_plans() -> WhatIf:
    """`small`, `fair` and `large`: one, two and three instances of `count`, 250/s each."""
    return what_if()


def page_of(whatif: WhatIf) -> ReportPage:
    return ReportPage(render_whatif_page(whatif))


def lines(page: ReportPage, figure: int) -> dict[str, tuple[list[float], list[float]]]:
    return {trace["name"]: (trace["x"], trace["y"]) for trace in page.figures[figure]["data"]}


def test_page__says_which_plans_carry_the_load_and_what_the_other_lacks() -> None:
    page = page_of(replace(three_plans(), max_lag_s=180.0, origin="the peak"))
    assert "2 of 3 plans carry read 400/s; fair is the smallest of them, with 25 % headroom" in page.text
    assert "Load read 400/s (the peak)." in page.text
    # 150/s stay behind, 3600 s of them an hour; 180 s at 250/s are 45,000 tuples, which takes 300 s.
    assert (
        "small Unstable: count would be 160 % busy; at most read 250/s. The backlog grows by read 150/s: 540,000 "
        "events in an hour, and the lag passes 3 min after 5 min. Just enough, without headroom: count 2 instead of 1."
    ) in page.text
    assert "fair Carries up to read 500/s; count is full first, 80 % now." in page.text
    # 10,000 that wait leave 35,000 to come.
    behind = page_of(replace(three_plans(), max_lag_s=180.0, backlog={"read": 10_000.0})).text
    assert "Waiting already: 10,000 at read." in behind
    assert "the lag passes 3 min after 3 min 53 s" in behind


def test_table__puts_plans_side_by_side_and_leaves_out_what_no_plan_tells() -> None:
    text = page_of(three_plans()).text
    # 400/s of 1 ms CPU and 400/s of 2 ms.
    assert "small does not carry the load 2 −38 % count 160 % unstable unstable unstable 1.2 " in text
    assert "fair 3 25 % count 80 % " in text
    assert "large 4 88 % count 53 % " in text
    for column in ("memory", "down", "recovery", "misses"):
        assert f" {column} " not in text
    told = replace(what_if(memory_mib=100.0), violation={"fair": {"p95 < 1 s": 0.12}, "large": {"p95 < 1 s": 0.004}})
    text = page_of(told).text
    assert "cores memory misses p95 < 1 s" in text
    assert "1.2 300 MiB 12 % large" in text
    assert "1.2 400 MiB <1 % At other loads" in text


def test_latency__follows_each_plan_to_what_it_sustains_and_passes_where_the_table_says() -> None:
    page = page_of(three_plans())
    shown = lines(page, LATENCY)
    assert page.figures[LATENCY]["layout"]["xaxis"]["range"] == [0, 975]
    assert shown["saturation"][0] == pytest.approx([250, 500, 750])
    load, p95_s = shown["small"]
    assert 0.99 < max(load) / 250 < 1
    # Without queues, exponential services of 1 and 4 ms: P(T > t) = (4 exp(−t/4) − exp(−t)) / 3 = 5 % at 13.1 ms.
    assert p95_s[0] == pytest.approx(0.0131, rel=0.05)
    # M/M/1 after M/M/1 at 200/s: means 1/800 and 1/50 s, (20 exp(−t/20) − 1.25 exp(−t/1.25)) / 18.75 = 5 % at 61.2 ms.
    assert np.interp(200, load, p95_s) == pytest.approx(0.0612, rel=0.05)
    marked = dict(zip(("fair", "large"), shown["in the table"][1], strict=True))
    off = max(abs(np.interp(400, *shown[name]) / mark - 1) for name, mark in marked.items())
    assert f"They agree within {max(1, int(np.ceil(100 * off)))} % at this load." in page.text
    assert off < 0.1
    assert np.all(np.diff(shown["fair"][1]) > 0)


def test_throughput__is_what_is_offered_until_a_plan_is_full() -> None:
    shown = lines(page_of(three_plans()), THROUGHPUT)
    for name, most in (("small", 250), ("fair", 500), ("large", 750)):
        offered, taken = shown[name]
        assert most in offered
        assert taken == pytest.approx(np.minimum(offered, most).tolist())


def test_utilisation__has_a_bar_for_each_operator_and_plan_cut_where_it_is_far_beyond_full() -> None:
    page = page_of(three_plans())
    bars = {trace["name"]: trace for trace in page.figures[UTILISATION]["data"] if trace["type"] == "bar"}
    assert page.figures[UTILISATION]["layout"]["yaxis"]["ticktext"] == ["read", "count"]
    assert [bars[name]["x"] for name in ("small", "fair", "large")] == [[0.4, 1.6], [0.4, 0.8], [0.4, 0.533333]]
    assert [shape["x0"] for shape in page.figures[UTILISATION]["layout"]["shapes"]] == [1]
    beyond = page_of(what_if(load_per_s=900.0)).figures[UTILISATION]["data"][0]
    assert beyond["x"] == [0.9, 2]
    assert [text.split() for text in beyond["text"]] == [["90", "%"], ["360", "%", "→"]]


def keyed(shares: dict[str, float], count: int) -> WhatIf:
    topology = Topology("keyed", (Operator("read"), Operator("count", 8)), (Stream("read", "count", Grouping.FIELDS),))
    profiles = {
        "read": OperatorProfile("read", service_s=0.001),
        "count": OperatorProfile("count", service_s=0.004, keys=KeyHistogram(shares) if shares else None),
    }
    plans = {"plan": PhysicalPlan("keyed", {"read": 1, "count": count})}
    return evaluated(WhatIf(topology, profiles, plans, dict.fromkeys(plans), {"read": 400.0}))  # type: ignore[arg-type]


@pytest.mark.slow
def test_utilisation__shows_each_instance_where_keys_are_uneven() -> None:
    shown = lines(page_of(keyed({"often": 0.5}, 4)), UTILISATION)
    assert len(shown["instances of plan"][0]) == 4
    # 400/s of 4 ms over four.
    assert shown["mean of plan"][0] == pytest.approx([0.4])
    assert "instances of plan" not in lines(page_of(what_if({"plan": 4})), UTILISATION)


def test_page__says_when_no_number_of_instances_is_enough_and_when_keys_are_not_known() -> None:
    # All 400/s to the one key's instance: 160 % however many there are.
    text = page_of(keyed({"all": 1.0}, 2)).text
    assert "plan does not carry read 400/s: count is full at 62 % of it" in text
    assert "count: no parallelism helps, as its busiest instance is at 1.6 even with 8: spread its heaviest key" in text
    assert "The load of the busiest instance behind read->count is uncertain" in page_of(keyed({}, 4)).text


def test_page__names_the_operator_of_which_there_cannot_be_enough() -> None:
    # 40,000/s of 4 ms are the work of 160 instances; exactly full is too full.
    text = page_of(what_if({"plan": 2}, load_per_s=40_000.0)).text
    assert "count: not even 128 instances do: raise its max_parallelism to 161 or more." in text


def test_page__counts_no_instances_for_a_plan_on_nodes_of_another_speed() -> None:
    def text(factor: float) -> str:
        # 600/s: 4 ms on near, 4 ms times the factor on far.
        site = Site(service_factor={"far": factor})
        return page_of(what_if({"plan": 2}, load_per_s=600.0, site=site, packed=True)).text

    assert "What would help: more instances of count." in text(2.0)
    assert "Just enough" not in text(2.0)
    assert "Just enough, without headroom: count 3 instead of 2." in text(1.0)


def test_page__says_that_nothing_helps_only_where_the_fastest_nodes_do_not() -> None:
    # 20,000/s of 4 ms are the work of 80 instances on near, of 160 on far, which is twice as slow: 128 there may be.
    site = Site(service_factor={"far": 2.0})
    placed = page_of(what_if({"plan": 2}, load_per_s=20_000.0, site=site, packed=True)).text
    assert "not even" not in placed
    assert "What would help: more instances of count." in placed
    too_much = page_of(what_if({"plan": 2}, load_per_s=40_000.0, site=site, packed=True)).text
    assert "count: not even 128 instances do: raise its max_parallelism to 161 or more." in too_much


def test_page__says_of_a_full_link_what_widens_it() -> None:
    link = MeasuredLink("near", "far", 1.0, 0.0, 0.1)
    network = measured_network([link], np.random.default_rng(7))
    site = Site(network=network, bytes_per_tuple={"read->count": 1000.0})
    text = page_of(what_if({"plan": 2}, site=site, packed=True)).text
    assert "What would help with network near → far: place what talks over it on one node, or widen the link." in text


def test_headline__of_plans_that_are_equally_small_calls_none_the_smallest() -> None:
    text = page_of(what_if({"first": 2, "second": 2, "large": 3})).text
    assert "All 3 plans carry read 400/s; first is among the smallest of them, with 25 % headroom" in text


def test_page__raises_all_that_is_full_at_once() -> None:
    # 2,500/s: `read` needs three, `count` eleven at exactly 1,000/s and 250/s each; ten are full, so eleven.
    text = page_of(what_if({"plan": 2}, load_per_s=2500.0)).text
    assert "Just enough, without headroom: read 3 instead of 1, count 11 instead of 2." in text


def test_forecast__is_a_band_from_its_lowest_to_its_highest_quantile() -> None:
    page = page_of(replace(three_plans(), peak_per_s={0.5: 300.0, 0.95: 400.0, 0.99: 1200.0}))
    assert "forecast peak: p50 300/s, p95 400/s, p99 1,200/s" in page.text
    for figure in (LATENCY, THROUGHPUT):
        layout = page.figures[figure]["layout"]
        shapes = layout["shapes"]
        assert [(shape["x0"], shape["x1"]) for shape in shapes if shape["type"] == "rect"] == [(300, 1200)]
        assert [shape["x0"] for shape in shapes if shape["type"] == "line"] == [300, 400, 1200, 400]
        # Beyond what any plan sustains, and a little more.
        assert layout["xaxis"]["range"] == [0, 1260]


def test_page__without_a_load_draws_no_curves() -> None:
    page = page_of(what_if(load_per_s=0.0))
    assert "Without a load nothing is full: 3 plans" in page.text
    assert len(page.figures) == 1
    assert "At other loads" not in page.text
    assert "nothing in it fills up" in page.text.lower()


def test_page__of_one_plan_speaks_of_it_alone() -> None:
    assert "fair carries read 400/s with 25 % headroom" in page_of(what_if({"fair": 2})).text
    # 250 of 400, 62.5 %
    assert "small does not carry read 400/s: count is full at 62 % of it" in page_of(what_if({"small": 1})).text


def test_headline__names_the_nearest_where_no_plan_carries_the_load() -> None:
    text = page_of(what_if(load_per_s=1000.0)).text
    assert "None of 3 plans carries read 1,000/s; large comes nearest, at 75 % of it" in text
    assert "1 of 3 plans carries read 600/s: large, with 25 % headroom" in page_of(what_if(load_per_s=600.0)).text
    assert "All 3 plans carry read 200/s; small is the smallest" in page_of(what_if(load_per_s=200.0)).text


def test_sources__are_drawn_in_their_mix_and_those_without_a_load_left_out_of_words() -> None:
    topology = Topology(
        "two",
        (Operator("east"), Operator("west"), Operator("count")),
        (Stream("east", "count"), Stream("west", "count")),
    )
    profiles = {name: OperatorProfile(name, service_s) for name, service_s in (("east", 0.001), ("west", 0.001))}
    profiles["count"] = OperatorProfile("count", 0.002)
    plans = {"one": PhysicalPlan("two", {"east": 1, "west": 1, "count": 1})}

    def page(west_per_s: float) -> ReportPage:
        load = {"east": 300.0, "west": west_per_s}
        return page_of(evaluated(WhatIf(topology, profiles, plans, dict.fromkeys(plans), load)))  # type: ignore[arg-type]

    # 400/s of 2 ms each; at most 500/s, three quarters of them from the east.
    both = page(100.0)
    assert "one carries east 300/s and west 100/s with 25 % headroom" in both.text
    assert "together 400/s" in both.text
    assert "Carries up to east 375/s, west 125/s" in both.text
    assert lines(both, LATENCY)["saturation"][0] == pytest.approx([500])
    assert both.figures[LATENCY]["layout"]["xaxis"]["title"]["text"] == "events per second, all sources together"
    alone = page(0.0)
    assert "one carries east 300/s with 67 % headroom" in alone.text
    assert "Carries up to east 500/s;" in alone.text


def test_windows__bend_the_load_at_which_a_plan_is_full() -> None:
    topology = Topology(
        "windows",
        (Operator("read"), Operator("window"), Operator("store")),
        (Stream("read", "window"), Stream("window", "store")),
    )
    second = WindowedOutput(WindowKind.TUMBLING, 1.0, 100)
    profiles = {
        "read": OperatorProfile("read", service_s=0.0001),
        "window": OperatorProfile("window", service_s=0.001, windowed={"window->store": second}),
        "store": OperatorProfile("store", service_s=0.009),
    }
    plans = {"one": PhysicalPlan("windows", {"read": 1, "window": 1, "store": 1})}
    page = page_of(
        evaluated(WhatIf(topology, profiles, plans, dict.fromkeys(plans), {"read": 400.0}))  # type: ignore[arg-type]
    )
    # At most 100 keys a second of 9 ms come out, 90 %; so `window` is full first, at 1,000/s, and not `store` at 450/s.
    assert "one carries read 400/s with 150 % headroom" in page.text
    assert lines(page, LATENCY)["saturation"][0] == pytest.approx([1000])
    offered, taken = lines(page, THROUGHPUT)["one"]
    assert taken == pytest.approx(np.minimum(offered, 1000).tolist())


def test_a_site__is_in_the_curves_as_it_is_in_the_table() -> None:
    # In pages of buffers: 0 to 100 ms more. Container 1 has 1 ms and 2 ms of each tuple of 250/s, and half a core.
    site = Site(ContainerSize(cores=0.5, memory_mib=1024), buffer_timeout_s=0.1, bytes_per_tuple={"read->count": 100})
    page = page_of(what_if({"fair": 2}, load_per_s=200.0, site=site, packed=True))
    # 1 ms of all and 2 ms of a half are 2 ms a tuple: full at 250/s.
    assert "fair carries read 200/s with 25 % headroom" in page.text
    assert "container 1 is full first, 80 % now" in page.text
    shown = lines(page, LATENCY)
    assert shown["saturation"][0] == pytest.approx([250])
    assert np.interp(200, *shown["fair"]) == pytest.approx(shown["in the table"][1][0], rel=0.05)
    offered, taken = lines(page, THROUGHPUT)["fair"]
    assert taken == pytest.approx(np.minimum(offered, 250).tolist())
    full = page_of(what_if({"fair": 2}, load_per_s=300.0, site=site, packed=True)).text
    assert "What would help with container 1: spread its instances over more containers, or give it more cores." in full
    assert "container 1 on node near needs 0.6 of 0.5 cores" in full.replace("Container", "container")


def test_sources_that_poll__are_full_where_they_may_ask_for_no_more() -> None:
    given = what_if({"fair": 2})
    read = replace(given.profiles["read"], polling=Polling(0.1, 50))
    page = page_of(evaluated(replace(given, profiles={**given.profiles, "read": read})))
    shown = lines(page, LATENCY)
    # 50 each tenth of a second are 500/s, as much as two of `count` take.
    assert shown["saturation"][0] == pytest.approx([500])
    # Half the interval on average, at any load.
    assert min(shown["fair"][1]) > 0.05


def test_containers__stand_beside_their_size() -> None:
    page = page_of(what_if({"fair": 2}, site=SIZED, packed=True, memory_mib=490.0))
    # Container 1: 400/s of 1 ms and 200/s of 2 ms; container 2: 200/s of 2 ms.
    assert page.figures[CORES]["data"][0]["x"] == pytest.approx([0.8, 0.4])
    assert page.figures[MEMORY]["data"][0]["x"] == [980, 490]
    assert page.figures[MEMORY]["layout"]["yaxis"]["ticktext"] == ["container 1, near", "container 2, far"]
    assert [page.figures[figure]["layout"]["shapes"][0]["x0"] for figure in (CORES, MEMORY)] == [1.5, 1024]
    assert "container 1 on node near needs 980 of 1024 MiB" in page.text.replace("Container", "container")
    over = page_of(what_if({"fair": 2}, site=SIZED, packed=True, memory_mib=600.0)).text
    assert "fair carries read 400/s with 25 % headroom, though over the size of its containers" in over
    # With 600 MiB each, `fair` has 1200 MiB in its first container, as has `large`.
    both = page_of(what_if({"fair": 2, "large": 3}, site=SIZED, packed=True, memory_mib=600.0)).text
    assert "fair is the smallest of them, with 25 % headroom, though over the size of its containers" in both


def test_page__tells_what_leaving_the_running_plan_costs() -> None:
    given = what_if({"fair": 2, "large": 3})
    change = PlanChange(given.plans["fair"], declared_rescale(15.0))
    told = {
        name: evaluate(given.topology, given.profiles, plan, given.load_per_s, change=change, percentiles=True)
        for name, plan in given.plans.items()
    }
    text = page_of(replace(given, estimates=told)).text
    assert "This is the plan that runs." in text
    # 15 s of 400/s are 6,000, drained at 750 − 400.
    assert "and 17 s more until 6,000 events behind are caught up." in text
    assert "down recovery" in text


@pytest.mark.slow
def test_page__of_many_plans_draws_the_first_and_tables_all() -> None:
    page = page_of(what_if({f"plan {count}": count for count in range(1, 11)}))
    assert "2 plans not drawn here and below." in page.text
    assert "plan 10 11 150 % read" in page.text
    assert "plan 9" not in lines(page, LATENCY)


def test_notes__are_said_once_where_they_are_of_all_plans() -> None:
    text = page_of(what_if(site=Site(service_factor={"far": 2.0}))).text
    assert text.count("node speeds and network are left out") == 1
    assert "Note The plan does not name the node of every container" in text


@cache
def named_page(name: str) -> ReportPage:
    """The name wherever something from outside is shown."""
    given = what_if({name: 1, "other": 2}, source=name, counter=f"{name}2", site=SIZED, packed=True, memory_mib=490.0)
    return page_of(replace(given, origin=name, violation={name: {name: 0.5}}))


@pytest.mark.parametrize("text", HOSTILE)
def test_page__shows_hostile_text_as_text(text: str) -> None:
    hostile, tame = named_page(text), named_page("x")
    assert hostile.elements == tame.elements
    assert {name for name, _ in hostile.attributes} == {name for name, _ in tame.attributes}
    assert " ".join(text.split()) in hostile.text
    assert not set("<>&") & set(hostile.figures_source)
    assert "<a" not in str(hostile.figures)
    assert "<script" not in str(hostile.figures)


def test_page__allows_only_its_own_scripts_and_no_connection() -> None:
    page = page_of(three_plans())
    policy = next(value for name, value in page.attributes if name == "content" and value and "default-src" in value)
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert all(source.startswith("'sha256-") for source in directives["script-src"].split())
    assert page.elements.count("script") == 3


def test_page__is_written_whole_and_the_same_again(tmp_path: Path) -> None:
    path = write_whole(render_whatif_page(three_plans()), tmp_path / "pages" / "plans.html")
    assert path.read_text() == render_whatif_page(three_plans())
    assert [child.name for child in path.parent.iterdir()] == ["plans.html"]


def test_plans__without_their_estimates_are_refused() -> None:
    with pytest.raises(ReportError, match="plan 'small' lacks its estimate"):
        replace(three_plans(), estimates={name: three_plans().estimates[name] for name in ("fair", "large")})
    with pytest.raises(ReportError, match="no plan was evaluated"):
        replace(three_plans(), plans={}, estimates={})
