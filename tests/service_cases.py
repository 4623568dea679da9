"""A pair of services, one of which calls the other, and what their threads let through."""

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.services.pools import CallRouting, ServiceTerms, pool_of
from planner.plan_model import PlanModel

SHOP = Topology("pair", (Operator("gate"), Operator("back")), (Stream("gate", "back"),))
PROFILES = {"gate": OperatorProfile("gate", 0.2), "back": OperatorProfile("back", 0.3)}
THREADS = {"gate": 2, "back": 1}
SERVICES = ServiceTerms({name: pool_of(PROFILES[name], THREADS[name]) for name in THREADS}, CallRouting.RANDOM)
"""A request holds a thread of the gate for .4 s, of which the back, at a replica by chance, takes .3 s."""
MODEL = PlanModel(SHOP, PROFILES, services=SERVICES)
RUNNING = {"gate": 1, "back": 2}
MST_PER_S = 0.4 / 0.1025
"""Of two requests at a gate of its own time .1 s and two backs of .15 s each: G(1) = .1 + .15 + .15 = .4 and G(2) =
.1²/2 + .1 × .3 + 3 × .15² = .1025. By its busyness a gate carries 5 a second, two backs 6.67."""
