"""A simulated instrument: reads prepared states from standard input, one per line, and writes what it read out."""

import random
import sys
import time

from bestchannel import read_channels

file, name, milliseconds = sys.argv[1:]
channel = read_channels(file)[name]
rng = random.Random(name)
for line in sys.stdin:
    time.sleep(float(milliseconds) / 1000)
    (letter,) = rng.choices(channel.outputs, channel.W[channel.inputs.index(line.strip())])
    print(letter, flush=True)
