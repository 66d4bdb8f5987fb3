// go-redis in cluster mode: it writes while a primary is killed and while slots move, and nothing is lost that a replica had.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	. "larder.test/ecosystem/scenario"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

// write says whether a write was acknowledged, and a replica had it then: both are asked of one connection.
func write(cluster *redis.ClusterClient, key string, value int) bool {
	node, err := cluster.MasterForKey(ctx, key)
	if err == nil {
		var set *redis.StatusCmd
		var replicas *redis.Cmd
		_, err = node.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			set = pipe.Set(ctx, key, value, 0)
			replicas = pipe.Do(ctx, "WAIT", 1, 1000)
			return nil
		})
		if err == nil {
			count, _ := replicas.Int()
			return set.Val() == "OK" && count == 1
		}
	}
	// It follows redirections, and learns of them.
	if cluster.Set(ctx, key, value, 0).Err() != nil {
		cluster.ReloadState(ctx)
	}
	return false
}

func nothingIsLost(_ *redis.Client) {
	process := exec.Command("python3", os.Getenv("CLUSTERS_PROGRAM"))
	process.Stderr = os.Stderr
	input := Must(process.StdinPipe())
	output := bufio.NewScanner(Must(process.StdoutPipe()))
	Check(process.Start())
	defer process.Wait()
	defer input.Close()
	if !output.Scan() {
		panic("the cluster does not start")
	}
	var start struct{ Ports []int }
	Check(json.Unmarshal(output.Bytes(), &start))
	var addresses []string
	for _, port := range start.Ports {
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", port))
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses, MaxRetries: 2, ReadTimeout: 2 * time.Second})
	defer cluster.Close()
	over := make(chan []string)
	go func() {
		var lines []string
		for len(lines) < 2 && output.Scan() {
			lines = append(lines, output.Text())
		}
		over <- lines
	}()
	var kept []int
	var lines []string
	count := 0
	for lines == nil {
		count++
		if write(cluster, "key:"+strconv.Itoa(count), count) {
			kept = append(kept, count)
		}
		select {
		case lines = <-over:
		default:
		}
	}
	Same(lines, []string{"killed", "resharded"})
	if len(kept) <= 100 {
		panic(fmt.Sprintf("%d of %d were acknowledged", len(kept), count))
	}
	for _, number := range kept {
		Same(Must(cluster.Get(ctx, "key:"+strconv.Itoa(number)).Int()), number)
	}
	for number := range 200 {
		Check(cluster.Set(ctx, "after:"+strconv.Itoa(number), 1, 0).Err())
	}
}

func main() {
	Run("go-redis on a cluster", []Scenario{{Name: "nothingIsLost", Run: nothingIsLost}})
}
