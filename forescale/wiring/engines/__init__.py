"""One file per kind of engine: what its sections of a topology file become. A new one is a file and a name in
`registry`.
"""
