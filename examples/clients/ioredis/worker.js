// A producer and a worker on the DQ queue `mail`, with ioredis.
//
//   node worker.js push ID MESSAGE [DELAY_MS]     MESSAGE is JSON: {"to": "ada", "takes_ms": 200, "failures": 1}
//   node worker.js work                           works until SIGTERM or Ctrl-C
//
// The environment may set REDIS_PORT, RESP (2 or 3), LEASE_MS and BLOCK_MS.

import { setTimeout as pause } from "node:timers/promises";
import { Redis } from "ioredis";

const QUEUE = "mail";
const COUNT = 4; // jobs taken at once
const LEASE_MS = Number(process.env.LEASE_MS ?? 30_000); // they are ours for so long, or until the next heartbeat
const BLOCK_MS = Number(process.env.BLOCK_MS ?? 5_000); // an idle worker asks anew after this

function connect() {
  return new Redis({
    port: Number(process.env.REDIS_PORT ?? 6379),
    protocol: Number(process.env.RESP ?? 3),
    // ioredis waits for a reply without limit unless commandTimeout is set; then it must exceed BLOCK_MS.
  });
}

async function push(id, message, delayMs = "0") {
  const redis = connect();
  const [pushed, outcome] = await redis.call("DQ.PUSH", QUEUE, message, "ID", id, "DELAY", delayMs);
  console.log("pushed", pushed, outcome);
  await redis.quit();
}

// The work. This letter says itself how long it takes and how often it fails.
async function send(letter, attempt) {
  await pause(letter.takes_ms ?? 0);
  if (attempt <= (letter.failures ?? 0)) throw new Error("the mail server is away");
}

async function work() {
  const claims = connect(); // waits inside the server, does nothing else
  const control = connect();
  let claimsId = null;
  let held = []; // receipts of the jobs that are neither done nor given back
  let stopping = false;

  async function stop() {
    stopping = true;
    // A waiting claim then ends as if its time were over. One that has just got jobs is not disturbed.
    if (claimsId !== null) await control.call("CLIENT", "UNBLOCK", claimsId);
  }
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);

  const heartbeat = setInterval(async () => {
    if (held.length > 0) await control.call("DQ.EXTEND", QUEUE, "LEASE", LEASE_MS, ...held);
  }, LEASE_MS / 4);

  async function workOnOne([id, message, attempt, , receipt]) {
    console.log("start", id, "attempt", attempt);
    try {
      await send(JSON.parse(message), attempt);
    } catch (error) {
      // It comes back after the queue's backoff, or is dead when its attempts are used up: see DQ.POLICY.
      const [state] = await control.call("DQ.NACK", QUEUE, "ERROR", error.message, receipt);
      console.log("failed", id, "attempt", attempt, state);
      return;
    }
    const [acknowledged] = await control.call("DQ.ACK", QUEUE, receipt);
    // 0: the lease had ended, and somebody else has the job by now.
    console.log(acknowledged ? "done" : "lost", id, "attempt", attempt);
  }

  while (!stopping) {
    claimsId = await claims.call("CLIENT", "ID");
    const words = ["COUNT", COUNT, "LEASE", LEASE_MS, "BLOCK", BLOCK_MS];
    const jobs = (await claims.call("DQ.CLAIM", QUEUE, ...words)) ?? []; // null: nothing was due
    for (const [place, job] of jobs.entries()) {
      const [id, , , , receipt] = job;
      held = jobs.slice(place).map((other) => other[4]);
      if (stopping) {
        // Not begun: the next worker may have it at once, and it does not count as an attempt.
        await control.call("DQ.NACK", QUEUE, "UNUSED", receipt);
        console.log("unused", id);
      } else {
        await workOnOne(job);
      }
    }
    held = [];
  }
  clearInterval(heartbeat);
  await Promise.all([claims.quit(), control.quit()]);
  console.log("stopped");
}

const [verb, ...words] = process.argv.slice(2);
if (verb === "push" && words.length >= 2) await push(...words);
else if (verb === "work") await work();
else throw new Error("worker.js push ID MESSAGE [DELAY_MS], or worker.js work");
