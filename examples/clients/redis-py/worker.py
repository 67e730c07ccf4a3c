"""A producer and a worker on the DQ queue `mail`, with redis-py.

    python worker.py push ID MESSAGE [DELAY_MS]     MESSAGE is JSON: {"to": "ada", "takes_ms": 200, "failures": 1}
    python worker.py work                           works until SIGTERM or Ctrl-C

The environment may set REDIS_PORT, RESP (2 or 3), LEASE_MS and BLOCK_MS.
"""

import json
import os
import signal
import sys
import threading
import time

import redis

QUEUE = "mail"
COUNT = 4  # jobs taken at once
LEASE_MS = int(os.environ.get("LEASE_MS", 30_000))  # they are ours for so long, or until the next heartbeat
BLOCK_MS = int(os.environ.get("BLOCK_MS", 5_000))  # an idle worker asks anew after this


def connect(**options):
    return redis.Redis(
        port=int(os.environ.get("REDIS_PORT", 6379)),
        protocol=int(os.environ.get("RESP", 3)),
        decode_responses=True,
        # redis-py gives up a read after 5 seconds; a claim may answer after BLOCK_MS.
        socket_timeout=BLOCK_MS / 1000 + 10,
        **options,
    )


def push(job_id, message, delay_ms="0"):
    job_id, outcome = connect().execute_command("DQ.PUSH", QUEUE, message, "ID", job_id, "DELAY", delay_ms)
    print("pushed", job_id, outcome)


def send(letter, attempt):
    """The work. This letter says itself how long it takes and how often it fails."""
    time.sleep(letter.get("takes_ms", 0) / 1000)
    if attempt <= letter.get("failures", 0):
        raise RuntimeError("the mail server is away")


class Worker:
    def __init__(self):
        self.claims = connect(single_connection_client=True)  # waits inside the server, does nothing else
        self.claims_id = None
        self.control = connect()  # shared by all threads
        self.held = []  # receipts of the jobs that are neither done nor given back
        self.stopping = threading.Event()
        self.finished = threading.Event()

    def run(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stopping.set())
        threading.Thread(target=self.extend_leases, daemon=True).start()
        threading.Thread(target=self.wake_when_stopping, daemon=True).start()
        while not self.stopping.is_set():
            self.work_on(self.claim())
        self.finished.set()
        print("stopped", flush=True)

    def claim(self):
        self.claims_id = self.claims.client_id()
        words = ["COUNT", COUNT, "LEASE", LEASE_MS, "BLOCK", BLOCK_MS]
        return self.claims.execute_command("DQ.CLAIM", QUEUE, *words) or []  # None: nothing was due

    def work_on(self, jobs):
        for place, (job_id, message, attempt, _due, receipt) in enumerate(jobs):
            self.held = [job[4] for job in jobs[place:]]
            if self.stopping.is_set():
                # Not begun: the next worker may have it at once, and it does not count as an attempt.
                self.control.execute_command("DQ.NACK", QUEUE, "UNUSED", receipt)
                print("unused", job_id, flush=True)
            else:
                self.work_on_one(job_id, message, attempt, receipt)
        self.held = []

    def work_on_one(self, job_id, message, attempt, receipt):
        print("start", job_id, "attempt", attempt, flush=True)
        try:
            send(json.loads(message), attempt)
        except Exception as error:
            # It comes back after the queue's backoff, or is dead when its attempts are used up: see DQ.POLICY.
            [state] = self.control.execute_command("DQ.NACK", QUEUE, "ERROR", str(error), receipt)
            print("failed", job_id, "attempt", attempt, state, flush=True)
        else:
            [acknowledged] = self.control.execute_command("DQ.ACK", QUEUE, receipt)
            # 0: the lease had ended, and somebody else has the job by now.
            print("done" if acknowledged else "lost", job_id, "attempt", attempt, flush=True)

    def extend_leases(self):
        while not self.finished.wait(LEASE_MS / 4000):
            try:
                if receipts := self.held:
                    self.control.execute_command("DQ.EXTEND", QUEUE, "LEASE", LEASE_MS, *receipts)
            except redis.RedisError as error:
                print("heartbeat:", error, file=sys.stderr)

    def wake_when_stopping(self):
        self.stopping.wait()
        # A waiting claim then ends as if its time were over. One that has just got jobs is not disturbed.
        if self.claims_id:
            self.control.client_unblock(self.claims_id)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["push", *words] if len(words) in (2, 3):
            push(*words)
        case ["work"]:
            Worker().run()
        case _:
            sys.exit(__doc__)
