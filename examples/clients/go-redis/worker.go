// A producer and a worker on the DQ queue `mail`, with go-redis 5, which is the version that Debian has.
//
//	worker push ID MESSAGE [DELAY_MS]     MESSAGE is JSON: {"to": "ada", "takes_ms": 200, "failures": 1}
//	worker work                           works until SIGTERM or Ctrl-C
//
// The environment may set REDIS_PORT, LEASE_MS and BLOCK_MS. This version of go-redis speaks RESP2 only.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"gopkg.in/redis.v5"
)

const queue = "mail"
const count = 4 // jobs taken at once

var leaseMs = number("LEASE_MS", 30000) // they are ours for so long, or until the next heartbeat
var blockMs = number("BLOCK_MS", 5000)  // an idle worker asks anew after this

func number(name string, fallback int) int {
	if value, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return value
	}
	return fallback
}

func connect() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: fmt.Sprintf("127.0.0.1:%d", number("REDIS_PORT", 6379)),
		// go-redis gives up a read after 3 seconds; a claim may answer after blockMs.
		ReadTimeout: time.Duration(blockMs)*time.Millisecond + 10*time.Second,
		PoolSize:    1, // so that CLIENT ID tells of the connection that the claim waits on
	})
}

// call sends a command that replies with an array. A null is an array of nothing.
func call(client *redis.Client, words ...interface{}) []interface{} {
	command := redis.NewSliceCmd(words...)
	client.Process(command)
	reply, err := command.Result()
	if err != nil && err != redis.Nil {
		log.Fatal(err)
	}
	return reply
}

func clientID(client *redis.Client) int64 {
	command := redis.NewIntCmd("CLIENT", "ID")
	client.Process(command)
	return command.Val()
}

// send is the work. This letter says itself how long it takes and how often it fails.
func send(message string, attempt int64) error {
	var letter struct {
		To       string
		TakesMs  int64 `json:"takes_ms"`
		Failures int64
	}
	if err := json.Unmarshal([]byte(message), &letter); err != nil {
		return err
	}
	time.Sleep(time.Duration(letter.TakesMs) * time.Millisecond)
	if attempt <= letter.Failures {
		return errors.New("the mail server is away")
	}
	return nil
}

func workOn(control *redis.Client, id interface{}, message string, attempt int64, receipt interface{}) {
	fmt.Println("start", id, "attempt", attempt)
	if err := send(message, attempt); err != nil {
		// It comes back after the queue's backoff, or is dead when its attempts are used up: see DQ.POLICY.
		state := call(control, "DQ.NACK", queue, "ERROR", err.Error(), receipt)
		fmt.Println("failed", id, "attempt", attempt, state[0])
	} else if call(control, "DQ.ACK", queue, receipt)[0] == int64(1) {
		fmt.Println("done", id, "attempt", attempt)
	} else { // The lease had ended, and somebody else has the job by now.
		fmt.Println("lost", id, "attempt", attempt)
	}
}

func extendLeases(control *redis.Client, held *atomic.Value) {
	for range time.Tick(time.Duration(leaseMs) * time.Millisecond / 4) {
		if receipts, _ := held.Load().([]interface{}); len(receipts) > 0 {
			call(control, append([]interface{}{"DQ.EXTEND", queue, "LEASE", leaseMs}, receipts...)...)
		}
	}
}

func work() {
	claims, control := connect(), connect() // the first waits inside the server, and does nothing else
	var held atomic.Value                   // receipts of the jobs that are neither done nor given back
	var stopping atomic.Bool
	claimsID := clientID(claims)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-signals
		stopping.Store(true)
		// A waiting claim then ends as if its time were over. One that has just got jobs is not disturbed.
		control.Process(redis.NewIntCmd("CLIENT", "UNBLOCK", atomic.LoadInt64(&claimsID)))
	}()
	go extendLeases(control, &held)
	for !stopping.Load() {
		atomic.StoreInt64(&claimsID, clientID(claims))
		jobs := call(claims, "DQ.CLAIM", queue, "COUNT", count, "LEASE", leaseMs, "BLOCK", blockMs)
		for place := range jobs {
			var receipts []interface{}
			for _, other := range jobs[place:] {
				receipts = append(receipts, other.([]interface{})[4])
			}
			held.Store(receipts)
			job := jobs[place].([]interface{}) // id, message, attempt, due, receipt
			if stopping.Load() {
				// Not begun: the next worker may have it at once, and it does not count as an attempt.
				call(control, "DQ.NACK", queue, "UNUSED", job[4])
				fmt.Println("unused", job[0])
			} else {
				workOn(control, job[0], job[1].(string), job[2].(int64), job[4])
			}
		}
		held.Store([]interface{}{})
	}
	fmt.Println("stopped")
}

func main() {
	switch words := os.Args[1:]; {
	case len(words) >= 3 && words[0] == "push":
		delay := append(words, "0")[3]
		reply := call(connect(), "DQ.PUSH", queue, words[2], "ID", words[1], "DELAY", delay)
		fmt.Println("pushed", reply[0], reply[1])
	case len(words) == 1 && words[0] == "work":
		work()
	default:
		log.Fatal("worker push ID MESSAGE [DELAY_MS], or worker work")
	}
}
