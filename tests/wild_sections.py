"""Inputs as they come in the wild, for every section of a topology file that `wild_inputs` has no good one of: an odd
value in the place of each field, by the reader that every command uses.
"""

from collections.abc import Iterator
from typing import Any

import yaml
from wild_inputs import Wild, fields

from forescale.files.topology import read_topology_file

PAIR = """
topology: pair
operators: {read: {service_s: 0.0001}, count: {service_s: 0.1}}
streams: [{from: read, to: count}]
"""
SECTIONS = {
    "arrivals of files": """
arrivals:
  kind: events
  path: events
  format: csv
  columns: {time: at, id: id, key: who, weight: n}
  source: read
  timezone: Europe/Berlin
  coverage: alive.csv
  max_silence_s: 600
  max_copy_gap_s: 3600
  max_ahead_s: 60
  not_before: 2026-01-01T00:00:00Z
  span_s: 5
  lateness_s: 600
  quality: {min_observed: 0.9, max_quarantined: 0.01, max_late: 0.01, max_duplicates: 0.2}
""",
    "arrivals of Kafka": """
arrivals:
  kind: kafka
  servers: broker-1:9092,broker-2:9092
  topics: {read: [orders, returns]}
  settings: {security.protocol: SASL_SSL}
  group: words
  password_env: KAFKA_PASSWORD
  timeout_s: 5
  settle_s: 10
""",
    "arrivals of Heron": """
arrivals:
  kind: heron
  url: "http://127.0.0.1:9"
  cluster: local
  environ: prod
  role: anna
  spouts: {read: lines}
  streams: {read: [default]}
  token_env: TOKEN
""",
    "arrivals of Storm": """
arrivals:
  kind: storm
  url: "http://127.0.0.1:9"
  spouts: {read: lines}
  max_gap_s: 60
  ended_after_s: 600
  saturated_capacity: 0.9
  headers_env: {X-Team: TEAM}
  ca_file: /etc/ssl/ca.pem
""",
    "a Storm cluster": """
cluster: {kind: storm, url: "http://127.0.0.1:9", topology: words, operators: {read: lines}, wait_s: 30, sample_s: 600}
""",
    "a Heron cluster": """
cluster:
  {kind: heron, url: "http://127.0.0.1:9", cluster: c, environ: e, role: r, topology: t, operators: {read: lines},
   client: [heron], max_containers: 9, sample_s: 600}
""",
    "a Kubernetes cluster": """
cluster:
  {kind: kubernetes, namespace: shop, kubeconfig: kube, context: prod, take_over: [kubectl], timeout_s: 10,
   operators: {read: deployment/read, count: statefulset/count}}
""",
    "a Flink operator's job": """
cluster:
  {kind: flink-operator, namespace: shop, deployment: words, url: "http://127.0.0.1:9", autoscaler: false,
   operators: {read: Lines}, sample_s: 60}
""",
    "a Flink job that is restarted": """
cluster:
  kind: flink
  url: "http://127.0.0.1:9"
  job: words
  rescale: savepoint
  slots_command: [/usr/bin/add, "{slots_lacking}"]
  slots_command_timeout_s: 60
  slots_wait_s: 60
  restart:
    {jar: /srv/words.jar, savepoints: /srv/savepoints, program_args: ["{read}", "{count}"], timeout_s: 300}
""",
    "a simulator": """
cluster: {kind: simulator, truth: history, slots: 32, downtime_s: 30, parallelism: {read: 1, count: 8}}
""",
    "events": """
events:
  - {label: fair, kind: launch, date: 2026-03-03, time_zone: UTC, ratio: 2.5, sources: [read]}
  - {label: down, kind: outage, start: "2026-03-04 06:00", end: "2026-03-04 08:00", time_zone: Europe/Berlin}
""",
    "holidays": """
events: [{holidays: {country: DE, subdivision: BY, time_zone: Europe/Berlin, sources: [read]}}]
""",
    "limits": """
planning:
  freeze: [{first_date: 2026-12-20, last_date: 2026-12-31, from: "08:00", until: "20:00", timezone: Europe/Berlin}]
  windows: [{days: [fri], from: "18:00", until: "23:00", timezone: UTC, min_parallelism: {count: 12}}]
  auto_approve: {max_step: 2, max_cost_instance_hours: 5, max_cost_price: 9, max_violation_probability: 0.1}
  guard: {mode: act, window_s: 60, settle_s: 120, utilisation: 0.7, drain_s: 600, min_dwell_s: 60, blacklist_after: 2}
  warm_up_s: 120
  max_step: 4
  min_dwell_s: 600
  max_rescales_a_day: 6
  min_parallelism: {count: 2}
  price_per_violation_minute: 2.0
  max_p95_latency_s: 0.5
  arrival_cv2: 2.0
  deploy_timeout_s: 60
  hold_s: 5
  stale_s: 7200
""",
    "packing": """
packing:
  {packer: round_robin, cores: 1.5, containers: 8, max_containers: 9, max_instances: 40, disk_mib: 1e5, padding: 0.1,
   slots: 2, slot_groups: {read: a}, evenly: false, nodes: {rack-a: 4, rack-b: null}}
""",
}


def section_inputs() -> Iterator[Wild]:
    for name, text in SECTIONS.items():
        good = yaml.safe_load(PAIR) | yaml.safe_load(text)
        section = next(iter(yaml.safe_load(text)))
        for wild in fields("topology.yaml", good, yaml.safe_dump, read_topology_file, below=(section,)):
            # One topic, in place of a list of them.
            sense = wild.sense if not wild.kind.endswith("topics.read") else lambda taken: True
            yield Wild(f"{name}, {wild.kind}", wild.value, wild.take, sense)


def good_sections() -> Iterator[Any]:
    """Each as it is, which a reader has to take."""
    yield from (PAIR + text for text in SECTIONS.values())
