// A producer and a worker on the DQ queue `mail`, with node-redis (the npm package `redis`).
//
//   node worker.js push ID MESSAGE [DELAY_MS]     MESSAGE is JSON: {"to": "ada", "takes_ms": 200, "failures": 1}
//   node worker.js work                           works until SIGTERM or Ctrl-C
//
// The environment may set REDIS_PORT, RESP (2 or 3), LEASE_MS and BLOCK_MS.

import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "redis";

const QUEUE = "mail";
const COUNT = "4"; // jobs taken at once; sendCommand takes strings only
const LEASE_MS = process.env.LEASE_MS ?? "30000"; // they are ours for so long, or until the next heartbeat
const BLOCK_MS = process.env.BLOCK_MS ?? "5000"; // an idle worker asks anew after this

async function connect() {
  const client = createClient({
    // node-redis waits for a reply without limit unless socket.socketTimeout is set; then it must exceed BLOCK_MS.
    socket: { port: Number(process.env.REDIS_PORT ?? 6379) },
    RESP: Number(process.env.RESP ?? 3),
  });
  client.on("error", (error) => console.error(error.message)); // without this a lost connection ends the process
  return client.connect();
}

async function push(id, message, delayMs = "0") {
  const client = await connect();
  const words = ["DQ.PUSH", QUEUE, message, "ID", id, "DELAY", delayMs];
  const [pushed, outcome] = await client.sendCommand(words);
  console.log("pushed", pushed, outcome);
  await client.close();
}

// The work. This letter says itself how long it takes and how often it fails.
async function send(letter, attempt) {
  await pause(letter.takes_ms ?? 0);
  if (attempt <= (letter.failures ?? 0)) throw new Error("the mail server is away");
}

class Worker {
  held = []; // receipts of the jobs that are neither done nor given back
  stopping = false;
  claimsId = null;

  async run() {
    this.claims = await connect(); // waits inside the server, does nothing else
    this.control = await connect();
    process.once("SIGTERM", () => this.stop());
    process.once("SIGINT", () => this.stop());
    const heartbeat = setInterval(() => this.extendLeases(), Number(LEASE_MS) / 4);
    while (!this.stopping) await this.workOn(await this.claim());
    clearInterval(heartbeat);
    await Promise.all([this.claims.close(), this.control.close()]);
    console.log("stopped");
  }

  async claim() {
    this.claimsId = await this.claims.sendCommand(["CLIENT", "ID"]);
    const words = ["COUNT", COUNT, "LEASE", LEASE_MS, "BLOCK", BLOCK_MS];
    return (await this.claims.sendCommand(["DQ.CLAIM", QUEUE, ...words])) ?? []; // null: nothing was due
  }

  async workOn(jobs) {
    for (const [place, job] of jobs.entries()) {
      const [id, , , , receipt] = job;
      this.held = jobs.slice(place).map((other) => other[4]);
      if (this.stopping) {
        // Not begun: the next worker may have it at once, and it does not count as an attempt.
        await this.control.sendCommand(["DQ.NACK", QUEUE, "UNUSED", receipt]);
        console.log("unused", id);
      } else {
        await this.workOnOne(job);
      }
    }
    this.held = [];
  }

  async workOnOne([id, message, attempt, , receipt]) {
    console.log("start", id, "attempt", attempt);
    try {
      await send(JSON.parse(message), attempt);
    } catch (error) {
      // It comes back after the queue's backoff, or is dead when its attempts are used up: see DQ.POLICY.
      const [state] = await this.control.sendCommand(["DQ.NACK", QUEUE, "ERROR", error.message, receipt]);
      console.log("failed", id, "attempt", attempt, state);
      return;
    }
    const [acknowledged] = await this.control.sendCommand(["DQ.ACK", QUEUE, receipt]);
    // 0: the lease had ended, and somebody else has the job by now.
    console.log(acknowledged ? "done" : "lost", id, "attempt", attempt);
  }

  async extendLeases() {
    if (this.held.length > 0) await this.control.sendCommand(["DQ.EXTEND", QUEUE, "LEASE", LEASE_MS, ...this.held]);
  }

  async stop() {
    this.stopping = true;
    // A waiting claim then ends as if its time were over. One that has just got jobs is not disturbed.
    if (this.claimsId !== null) await this.control.sendCommand(["CLIENT", "UNBLOCK", String(this.claimsId)]);
  }
}

const [verb, ...words] = process.argv.slice(2);
if (verb === "push" && words.length >= 2) await push(...words);
else if (verb === "work") await new Worker().run();
else throw new Error("worker.js push ID MESSAGE [DELAY_MS], or worker.js work");
