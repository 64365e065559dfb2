#!/usr/bin/env python3
"""pick.py EXPRESSION: print an expression over the JSON on stdin, which is called o; a list by lines."""
import json
import sys

picked = eval(sys.argv[1], {"o": json.load(sys.stdin)})  # pylint: disable=eval-used
for line in picked if isinstance(picked, list) else [picked]:
    print(line)
