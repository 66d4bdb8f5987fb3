// Scenarios of go-redis against the server at REDIS_PORT: a line for each, exit code 1 when one fails.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

type scenario struct {
	name string
	run  func(r *redis.Client)
}

func connect() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Getenv("REDIS_PORT")})
}

// must takes a value and an error apart, as most calls return them.
func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func same(got, want any) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Sprintf("got %v, want %v", got, want))
	}
}

func waitFor(what string, condition func() bool) {
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			panic("waited in vain for " + what)
		}
	}
}

func pipelines(r *redis.Client) {
	var counter *redis.IntCmd
	_, err := r.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, "k", 1, 0)
		counter = pipe.Incr(ctx, "k")
		pipe.Expire(ctx, "k", time.Hour)
		return nil
	})
	check(err)
	same(counter.Val(), int64(2))
	commands, err := r.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.LPush(ctx, "k", 1)
		pipe.Get(ctx, "missing")
		pipe.Incr(ctx, "k")
		return nil
	})
	if err == nil || commands[1].Err() != redis.Nil || commands[2].(*redis.IntCmd).Val() != 3 {
		panic(fmt.Sprint(err, commands))
	}
}

func transactions(r *redis.Client) {
	cmds := must(r.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, "n", 0, 0)
		pipe.IncrBy(ctx, "n", 5)
		return nil
	}))
	same(cmds[1].(*redis.IntCmd).Val(), int64(5))
	check(r.Set(ctx, "counter", 0, 0).Err())
	increment := func(tx *redis.Tx) error {
		n := must(tx.Get(ctx, "counter").Int())
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "counter", n+1, 0)
			return nil
		})
		return err
	}
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for done := 0; done < 25; {
				err := r.Watch(ctx, increment, "counter")
				if err == nil {
					done++
				} else if !errors.Is(err, redis.TxFailedErr) {
					panic(err)
				}
			}
		}()
	}
	group.Wait()
	same(must(r.Get(ctx, "counter").Int()), 200)
}

func scripts(r *redis.Client) {
	script := redis.NewScript(`
		local current = redis.call("HGET", KEYS[1], ARGV[1])
		if current == ARGV[2] then return 0 end
		redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
		return {ok = "changed from " .. (current or "nothing")}`)
	same(must(script.Run(ctx, r, []string{"h"}, "f", "v").Text()), "changed from nothing")
	check(r.ScriptFlush(ctx).Err())
	if err := script.EvalSha(ctx, r, []string{"h"}, "f", "v").Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		panic(err)
	}
	same(must(script.Run(ctx, r, []string{"h"}, "f", "v").Int()), 0)
	same(must(script.Exists(ctx, r).Result()), []bool{true})
	same(must(script.Run(ctx, r, []string{"h"}, "f", "w").Text()), "changed from v")
	slice := redis.NewScript(`return {1, "two", {3}, false, 3.99}`)
	same(must(slice.RunRO(ctx, r, nil).Slice()), []any{int64(1), "two", []any{int64(3)}, nil, int64(3)})
	if err := redis.NewScript(`return redis.call("SET", KEYS[1], 1)`).RunRO(ctx, r, []string{"k"}).Err(); err == nil {
		panic("a read-only script wrote")
	}
	if err := r.Eval(ctx, `return redis.call("LPUSH", KEYS[1], 1)`, []string{"h"}).Err(); !redis.HasErrorPrefix(err, "WRONGTYPE") {
		panic(err)
	}
}

func functions(r *redis.Client) {
	code := "#!lua name=lib\nredis.register_function('twice', function(keys, args) return args[1] * 2 end)"
	same(must(r.FunctionLoad(ctx, code).Result()), "lib")
	same(must(r.FCall(ctx, "twice", nil, 21).Int()), 42)
	libraries := must(r.FunctionList(ctx, redis.FunctionListQuery{WithCode: true}).Result())
	same(libraries[0].Functions[0].Name, "twice")
	same(libraries[0].Code, code)
	same(must(r.FunctionStats(ctx).Result()).Engines[0].FunctionsCount, int64(1))
	check(r.FunctionFlush(ctx).Err())
}

func publishSubscribe(r *redis.Client) {
	pubsub := r.Subscribe(ctx, "a")
	defer pubsub.Close()
	must(pubsub.Receive(ctx))
	check(pubsub.PSubscribe(ctx, "b*"))
	waitFor("a pattern", func() bool { return must(r.PubSubNumPat(ctx).Result()) == 1 })
	messages := pubsub.Channel()
	same(must(r.Publish(ctx, "a", "one").Result()), int64(1))
	same(must(r.Publish(ctx, "bb", "two").Result()), int64(1))
	same((<-messages).Payload, "one")
	same((<-messages).Pattern, "b*")
	sharded := r.SSubscribe(ctx, "shard")
	defer sharded.Close()
	must(sharded.Receive(ctx))
	same(must(r.SPublish(ctx, "shard", "three").Result()), int64(1))
	same((<-sharded.Channel()).Payload, "three")
}

func streams(r *redis.Client) {
	check(r.XGroupCreateMkStream(ctx, "s", "g", "0").Err())
	for n := range 30 {
		check(r.XAdd(ctx, &redis.XAddArgs{Stream: "s", Values: []any{"n", n}}).Err())
	}
	read := func(consumer string, count int64) []redis.XMessage {
		streams, err := r.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: "g", Consumer: consumer, Streams: []string{"s", ">"}, Count: count, Block: -1,
		}).Result()
		if err == redis.Nil {
			return nil
		}
		check(err)
		return streams[0].Messages
	}
	same(len(read("crashed", 10)), 10)
	done := 0
	for messages := read("alive", 7); len(messages) > 0; messages = read("alive", 7) {
		for _, message := range messages {
			done += int(must(r.XAck(ctx, "s", "g", message.ID).Result()))
		}
	}
	same(done, 20)
	pending := must(r.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: "s", Group: "g", Start: "-", End: "+", Count: 100}).Result())
	same(len(pending), 10)
	messages, start, err := r.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: "s", Group: "g", Consumer: "alive", Start: "0", Count: 100,
	}).Result()
	check(err)
	same(len(messages), 10)
	same(start, "0-0")
	info := must(r.XInfoStreamFull(ctx, "s", 0).Result())
	same(len(info.Groups[0].Consumers), 2)
}

// locks is the idiom that most Go programs use: SET NX with a token, deletion by a script that compares it.
func locks(_ *redis.Client) {
	release := redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)
	total := 0
	var group sync.WaitGroup
	for worker := range 6 {
		group.Add(1)
		go func() {
			defer group.Done()
			own := connect()
			defer own.Close()
			for turn := range 20 {
				token := fmt.Sprint(worker, turn)
				for !must(own.SetNX(ctx, "lock", token, 10*time.Second).Result()) {
					time.Sleep(time.Millisecond)
				}
				seen := total
				time.Sleep(100 * time.Microsecond)
				total = seen + 1
				same(must(release.Run(ctx, own, []string{"lock"}, token).Int()), 1)
				same(must(release.Run(ctx, own, []string{"lock"}, token).Int()) <= 1, true)
			}
		}()
	}
	group.Wait()
	same(total, 120)
}

func blocking(r *redis.Client) {
	results := make(chan []string)
	for range 3 {
		go func() { results <- must(r.BLPop(ctx, 10*time.Second, "empty", "queue").Result()) }()
	}
	waitFor("blocked clients", func() bool {
		return must(r.InfoMap(ctx, "clients").Result())["Clients"]["blocked_clients"] == "3"
	})
	check(r.RPush(ctx, "queue", "a", "b", "c").Err())
	seen := map[string]bool{}
	for range 3 {
		seen[(<-results)[1]] = true
	}
	same(len(seen), 3)
	same(r.BLPop(ctx, time.Second, "empty").Err(), redis.Nil)
}

func scans(r *redis.Client) {
	_, err := r.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for n := range 2000 {
			pipe.Set(ctx, fmt.Sprint("key:", n), n, 0)
			pipe.ZAdd(ctx, "z", redis.Z{Score: float64(n), Member: n})
		}
		return nil
	})
	check(err)
	seen := map[string]bool{}
	iterator := r.Scan(ctx, 0, "key:*", 100).Iterator()
	for iterator.Next(ctx) {
		seen[iterator.Val()] = true
	}
	check(iterator.Err())
	same(len(seen), 2000)
	top := must(r.ZRevRangeWithScores(ctx, "z", 0, 2).Result())
	same(top[0].Score, 1999.0)
}

func main() {
	failed := false
	r := connect()
	for _, scenario := range []scenario{
		{"pipelines", pipelines}, {"transactions", transactions}, {"scripts", scripts}, {"functions", functions},
		{"publishSubscribe", publishSubscribe}, {"streams", streams}, {"locks", locks}, {"blocking", blocking},
		{"scans", scans},
	} {
		if len(os.Args) > 1 && os.Args[1] != scenario.name {
			continue
		}
		begin := time.Now()
		func() {
			defer func() {
				if reason := recover(); reason != nil {
					failed = true
					fmt.Printf("FAIL go-redis: %s: %v\n", scenario.name, reason)
				} else {
					fmt.Printf("ok   go-redis: %s (%d ms)\n", scenario.name, time.Since(begin).Milliseconds())
				}
			}()
			check(r.FlushAll(ctx).Err())
			scenario.run(r)
		}()
	}
	if failed {
		os.Exit(1)
	}
}
