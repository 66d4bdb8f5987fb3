// Scenarios of go-redis.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	. "larder.test/ecosystem/scenario"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

func pipelines(r *redis.Client) {
	var counter *redis.IntCmd
	_, err := r.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, "k", 1, 0)
		counter = pipe.Incr(ctx, "k")
		pipe.Expire(ctx, "k", time.Hour)
		return nil
	})
	Check(err)
	Same(counter.Val(), int64(2))
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
	cmds := Must(r.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, "n", 0, 0)
		pipe.IncrBy(ctx, "n", 5)
		return nil
	}))
	Same(cmds[1].(*redis.IntCmd).Val(), int64(5))
	Check(r.Set(ctx, "counter", 0, 0).Err())
	increment := func(tx *redis.Tx) error {
		n := Must(tx.Get(ctx, "counter").Int())
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
	Same(Must(r.Get(ctx, "counter").Int()), 200)
}

func scripts(r *redis.Client) {
	script := redis.NewScript(`
		local current = redis.call("HGET", KEYS[1], ARGV[1])
		if current == ARGV[2] then return 0 end
		redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
		return {ok = "changed from " .. (current or "nothing")}`)
	Same(Must(script.Run(ctx, r, []string{"h"}, "f", "v").Text()), "changed from nothing")
	Check(r.ScriptFlush(ctx).Err())
	if err := script.EvalSha(ctx, r, []string{"h"}, "f", "v").Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		panic(err)
	}
	Same(Must(script.Run(ctx, r, []string{"h"}, "f", "v").Int()), 0)
	Same(Must(script.Exists(ctx, r).Result()), []bool{true})
	Same(Must(script.Run(ctx, r, []string{"h"}, "f", "w").Text()), "changed from v")
	slice := redis.NewScript(`return {1, "two", {3}, false, 3.99}`)
	Same(Must(slice.RunRO(ctx, r, nil).Slice()), []any{int64(1), "two", []any{int64(3)}, nil, int64(3)})
	if err := redis.NewScript(`return redis.call("SET", KEYS[1], 1)`).RunRO(ctx, r, []string{"k"}).Err(); err == nil {
		panic("a read-only script wrote")
	}
	if err := r.Eval(ctx, `return redis.call("LPUSH", KEYS[1], 1)`, []string{"h"}).Err(); !redis.HasErrorPrefix(err, "WRONGTYPE") {
		panic(err)
	}
}

func functions(r *redis.Client) {
	code := "#!lua name=lib\nredis.register_function('twice', function(keys, args) return args[1] * 2 end)"
	Same(Must(r.FunctionLoad(ctx, code).Result()), "lib")
	Same(Must(r.FCall(ctx, "twice", nil, 21).Int()), 42)
	libraries := Must(r.FunctionList(ctx, redis.FunctionListQuery{WithCode: true}).Result())
	Same(libraries[0].Functions[0].Name, "twice")
	Same(libraries[0].Code, code)
	Same(Must(r.FunctionStats(ctx).Result()).Engines[0].FunctionsCount, int64(1))
	Check(r.FunctionFlush(ctx).Err())
}

func publishSubscribe(r *redis.Client) {
	pubsub := r.Subscribe(ctx, "a")
	defer pubsub.Close()
	Must(pubsub.Receive(ctx))
	Check(pubsub.PSubscribe(ctx, "b*"))
	WaitFor("a pattern", func() bool { return Must(r.PubSubNumPat(ctx).Result()) == 1 })
	messages := pubsub.Channel()
	Same(Must(r.Publish(ctx, "a", "one").Result()), int64(1))
	Same(Must(r.Publish(ctx, "bb", "two").Result()), int64(1))
	Same((<-messages).Payload, "one")
	Same((<-messages).Pattern, "b*")
	sharded := r.SSubscribe(ctx, "shard")
	defer sharded.Close()
	Must(sharded.Receive(ctx))
	Same(Must(r.SPublish(ctx, "shard", "three").Result()), int64(1))
	Same((<-sharded.Channel()).Payload, "three")
}

func streams(r *redis.Client) {
	Check(r.XGroupCreateMkStream(ctx, "s", "g", "0").Err())
	for n := range 30 {
		Check(r.XAdd(ctx, &redis.XAddArgs{Stream: "s", Values: []any{"n", n}}).Err())
	}
	read := func(consumer string, count int64) []redis.XMessage {
		streams, err := r.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: "g", Consumer: consumer, Streams: []string{"s", ">"}, Count: count, Block: -1,
		}).Result()
		if err == redis.Nil {
			return nil
		}
		Check(err)
		return streams[0].Messages
	}
	Same(len(read("crashed", 10)), 10)
	done := 0
	for messages := read("alive", 7); len(messages) > 0; messages = read("alive", 7) {
		for _, message := range messages {
			done += int(Must(r.XAck(ctx, "s", "g", message.ID).Result()))
		}
	}
	Same(done, 20)
	pending := Must(r.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: "s", Group: "g", Start: "-", End: "+", Count: 100}).Result())
	Same(len(pending), 10)
	messages, start, err := r.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: "s", Group: "g", Consumer: "alive", Start: "0", Count: 100,
	}).Result()
	Check(err)
	Same(len(messages), 10)
	Same(start, "0-0")
	info := Must(r.XInfoStreamFull(ctx, "s", 0).Result())
	Same(len(info.Groups[0].Consumers), 2)
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
			own := Connect()
			defer own.Close()
			for turn := range 20 {
				token := fmt.Sprint(worker, turn)
				for !Must(own.SetNX(ctx, "lock", token, 10*time.Second).Result()) {
					time.Sleep(time.Millisecond)
				}
				seen := total
				time.Sleep(100 * time.Microsecond)
				total = seen + 1
				Same(Must(release.Run(ctx, own, []string{"lock"}, token).Int()), 1)
				Same(Must(release.Run(ctx, own, []string{"lock"}, token).Int()) <= 1, true)
			}
		}()
	}
	group.Wait()
	Same(total, 120)
}

func blocking(r *redis.Client) {
	results := make(chan []string)
	for range 3 {
		go func() { results <- Must(r.BLPop(ctx, 10*time.Second, "empty", "queue").Result()) }()
	}
	WaitFor("blocked clients", func() bool {
		return Must(r.InfoMap(ctx, "clients").Result())["Clients"]["blocked_clients"] == "3"
	})
	Check(r.RPush(ctx, "queue", "a", "b", "c").Err())
	seen := map[string]bool{}
	for range 3 {
		seen[(<-results)[1]] = true
	}
	Same(len(seen), 3)
	Same(r.BLPop(ctx, time.Second, "empty").Err(), redis.Nil)
}

func scans(r *redis.Client) {
	_, err := r.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for n := range 2000 {
			pipe.Set(ctx, fmt.Sprint("key:", n), n, 0)
			pipe.ZAdd(ctx, "z", redis.Z{Score: float64(n), Member: n})
		}
		return nil
	})
	Check(err)
	seen := map[string]bool{}
	iterator := r.Scan(ctx, 0, "key:*", 100).Iterator()
	for iterator.Next(ctx) {
		seen[iterator.Val()] = true
	}
	Check(iterator.Err())
	Same(len(seen), 2000)
	top := Must(r.ZRevRangeWithScores(ctx, "z", 0, 2).Result())
	Same(top[0].Score, 1999.0)
}

func main() {
	Run("go-redis", []Scenario{
		{"pipelines", pipelines}, {"transactions", transactions}, {"scripts", scripts}, {"functions", functions},
		{"publishSubscribe", publishSubscribe}, {"streams", streams}, {"locks", locks}, {"blocking", blocking},
		{"scans", scans},
	})
}
