"""`python deployment/lock.py REPORT` prints what pip would install, as its report says: one `name==version` a line."""

import json
import sys
from pathlib import Path

found = (package["metadata"] for package in json.loads(Path(sys.argv[1]).read_text())["install"])
pins = sorted(f"{about['name'].lower()}=={about['version']}" for about in found if about["name"] != "bestchannel")
print("# What CI and the container install; `make lock` renews it.", *pins, sep="\n")
