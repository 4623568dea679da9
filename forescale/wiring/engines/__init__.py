"""One file per kind of engine: builds the parts that its sections of a topology file name. To add one, write a file and
list it in `registry`.
"""
