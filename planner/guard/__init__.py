"""The guard: detectors, diagnosers and resolvers over a window of metrics, after Dhalion (Floratou et al., VLDB 2017).

Pure functions of values: `planner.guarding` reads the cluster and deploys; a policy of the replay uses the same
functions.
"""
