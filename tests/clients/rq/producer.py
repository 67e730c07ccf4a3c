"""An application that knows RQ and nothing of DQ: it schedules jobs and prints their ids, in the order of their times.

    REDIS_PORT=6379 python3 producer.py

tests/clients/schedule.rs runs it and drains what it left.
"""

import os
from datetime import datetime, timedelta, timezone

from redis import Redis
from rq import Queue

queue = Queue(connection=Redis(port=int(os.environ["REDIS_PORT"])))
now = datetime.now(timezone.utc)

jobs = [
    queue.enqueue_at(now - timedelta(hours=2), "builtins.print", "two hours ago"),
    queue.enqueue_at(now - timedelta(seconds=1), "builtins.print", "just now"),
    queue.enqueue_in(timedelta(seconds=2), "builtins.print", "soon"),
    queue.enqueue_in(timedelta(days=1), "builtins.print", "tomorrow"),
]
for job in jobs:
    print(job.id)
