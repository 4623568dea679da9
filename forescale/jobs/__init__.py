"""The jobs of one decision: functions of the workspace, a topology and a request, which return a frozen dataclass.

Airflow's tasks and the command line call the same functions. They read the environment and write JSON; jobs do neither.
"""
