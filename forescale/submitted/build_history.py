"""`forescale history build` as spark-submit runs it: with the same arguments, in the session that it has set up.

    spark-submit --master spark://… "$(python -m forescale.submitted.build_history --where)" TOPOLOGY

Exits with 1 after an error, which is one line on standard error, and with 2 for wrong usage.
"""

import sys

from forescale.cli import main

if __name__ == "__main__":
    if sys.argv[1:] == ["--where"]:
        print(__file__)
    else:
        main(["history", "build", *sys.argv[1:]])
