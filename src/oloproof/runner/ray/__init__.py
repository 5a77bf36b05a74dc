"""Cases on the machines of a Ray cluster, which runs them as the machine at hand would.

The plan, its pace and what is made again are this process's, which also writes alone. A worker on the cluster
(:mod:`~oloproof.runner.ray.node`) is asked one case at a time in each of its slots; user code runs in a process below
it, so that whatever a case does to its process is that case's, and only the end of a machine is Ray's.
"""
