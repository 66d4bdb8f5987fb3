// Scenarios of asynq, a queue whose every step is a script.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	. "larder.test/ecosystem/scenario"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

// quiet drops what asynq logs.
type quiet struct{}

func (quiet) Debug(...any) {}
func (quiet) Info(...any)  {}
func (quiet) Warn(...any)  {}
func (quiet) Error(...any) {}
func (quiet) Fatal(...any) {}

func options() asynq.RedisClientOpt { return asynq.RedisClientOpt{Addr: Address()} }

// serve starts a server for a handler; the function that it returns shuts it down.
func serve(handle asynq.HandlerFunc, change func(*asynq.Config)) func() {
	config := asynq.Config{
		Concurrency: 4, Logger: quiet{}, DelayedTaskCheckInterval: 50 * time.Millisecond,
		TaskCheckInterval: 50 * time.Millisecond, Queues: map[string]int{"critical": 6, "default": 3, "low": 1},
		RetryDelayFunc:  func(int, error, *asynq.Task) time.Duration { return 50 * time.Millisecond },
		ShutdownTimeout: time.Second, JanitorInterval: 100 * time.Millisecond,
	}
	if change != nil {
		change(&config)
	}
	server := asynq.NewServer(options(), config)
	Check(server.Start(handle))
	return server.Shutdown
}

func tasksAndResults(*redis.Client) {
	client, inspector := asynq.NewClient(options()), asynq.NewInspector(options())
	defer client.Close()
	var ids []string
	for n := range 100 {
		info := Must(client.Enqueue(asynq.NewTask("double", []byte(fmt.Sprint(n))), asynq.Retention(time.Hour)))
		ids = append(ids, info.ID)
	}
	defer serve(func(_ context.Context, task *asynq.Task) error {
		_, err := task.ResultWriter().Write(append(task.Payload(), task.Payload()...))
		return err
	}, nil)()
	WaitFor("tasks", func() bool { return Must(inspector.GetQueueInfo("default")).Completed == 100 })
	same := Must(inspector.GetTaskInfo("default", ids[42]))
	Same(string(same.Result), "4242")
	Same(Must(inspector.DeleteAllCompletedTasks("default")), 100)
}

func delayedTasks(*redis.Client) {
	client := asynq.NewClient(options())
	defer client.Close()
	done := make(chan string, 3)
	defer serve(func(_ context.Context, task *asynq.Task) error {
		done <- task.Type()
		return nil
	}, nil)()
	begin := time.Now()
	Must(client.Enqueue(asynq.NewTask("late", nil), asynq.ProcessIn(1500*time.Millisecond)))
	Must(client.Enqueue(asynq.NewTask("now", nil)))
	Same(<-done, "now")
	Same(<-done, "late")
	// Times are kept in whole seconds.
	Same(time.Since(begin) >= 400*time.Millisecond, true)
}

func retries(*redis.Client) {
	client, inspector := asynq.NewClient(options()), asynq.NewInspector(options())
	defer client.Close()
	var attempts atomic.Int32
	defer serve(func(_ context.Context, task *asynq.Task) error {
		if task.Type() == "skip" {
			return fmt.Errorf("no use: %w", asynq.SkipRetry)
		}
		if attempts.Add(1) < 4 {
			return errors.New("again")
		}
		return nil
	}, nil)()
	Must(client.Enqueue(asynq.NewTask("flaky", nil), asynq.MaxRetry(5), asynq.Retention(time.Hour)))
	Must(client.Enqueue(asynq.NewTask("skip", nil)))
	WaitFor("the last attempt", func() bool { return Must(inspector.GetQueueInfo("default")).Completed == 1 })
	Same(attempts.Load(), int32(4))
	WaitFor("the archive", func() bool { return Must(inspector.GetQueueInfo("default")).Archived == 1 })
	Same(Must(inspector.ListArchivedTasks("default"))[0].LastErr, "no use: skip retry for the task")
	Same(Must(inspector.RunAllArchivedTasks("default")), 1)
}

func uniqueTasks(*redis.Client) {
	client := asynq.NewClient(options())
	defer client.Close()
	task := asynq.NewTask("once", []byte("x"))
	Must(client.Enqueue(task, asynq.Unique(time.Hour)))
	_, err := client.Enqueue(task, asynq.Unique(time.Hour))
	Same(errors.Is(err, asynq.ErrDuplicateTask), true)
	Must(client.Enqueue(task, asynq.TaskID("id")))
	_, err = client.Enqueue(task, asynq.TaskID("id"))
	Same(errors.Is(err, asynq.ErrTaskIDConflict), true)
}

func priorities(*redis.Client) {
	client := asynq.NewClient(options())
	defer client.Close()
	for _, queue := range []string{"low", "default", "critical"} {
		for range 5 {
			Must(client.Enqueue(asynq.NewTask(queue, nil), asynq.Queue(queue)))
		}
	}
	done := make(chan string, 15)
	defer serve(func(_ context.Context, task *asynq.Task) error {
		done <- task.Type()
		return nil
	}, func(config *asynq.Config) { config.StrictPriority, config.Concurrency = true, 1 })()
	for n := range 15 {
		Same(<-done, []string{"critical", "default", "low"}[n/5])
	}
}

func groups(*redis.Client) {
	client := asynq.NewClient(options())
	defer client.Close()
	done := make(chan int, 1)
	defer serve(func(_ context.Context, task *asynq.Task) error {
		done <- len(task.Payload())
		return nil
	}, func(config *asynq.Config) {
		config.GroupGracePeriod, config.GroupMaxSize = time.Second, 10
		config.GroupAggregator = asynq.GroupAggregatorFunc(func(_ string, tasks []*asynq.Task) *asynq.Task {
			return asynq.NewTask("all", make([]byte, len(tasks)))
		})
	})()
	for range 10 {
		Must(client.Enqueue(asynq.NewTask("part", nil), asynq.Group("g")))
	}
	Same(<-done, 10)
}

func scheduler(*redis.Client) {
	done := make(chan struct{}, 9)
	defer serve(func(context.Context, *asynq.Task) error {
		done <- struct{}{}
		return nil
	}, nil)()
	periodic := asynq.NewScheduler(options(), &asynq.SchedulerOpts{Logger: quiet{}})
	Must(periodic.Register("@every 1s", asynq.NewTask("tick", nil)))
	Check(periodic.Start())
	defer periodic.Shutdown()
	<-done
	<-done
}

// killedWorker has this program work in a process of its own, which is killed while it has the task.
func killedWorker(r *redis.Client) {
	client := asynq.NewClient(options())
	defer client.Close()
	Must(client.Enqueue(asynq.NewTask("victim", nil), asynq.TaskID("victim")))
	worker := exec.Command(os.Args[0], "work-for-ever")
	Check(worker.Start())
	WaitFor("the worker", func() bool { return r.LLen(ctx, "asynq:{default}:active").Val() == 1 })
	Check(worker.Process.Kill())
	_ = worker.Wait()
	// As if the lease had run out.
	Check(r.ZAdd(ctx, "asynq:{default}:lease", redis.Z{Score: float64(time.Now().Add(-time.Minute).Unix()), Member: "victim"}).Err())
	done := make(chan struct{})
	defer serve(func(context.Context, *asynq.Task) error {
		close(done)
		return nil
	}, nil)()
	select {
	case <-done:
	case <-time.After(90 * time.Second):
		panic("nobody took it over")
	}
}

func workForEver() {
	serve(func(context.Context, *asynq.Task) error {
		time.Sleep(time.Hour)
		return nil
	}, nil)
	select {}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "work-for-ever" {
		workForEver()
	}
	Run("asynq", []Scenario{
		{"tasksAndResults", tasksAndResults}, {"delayedTasks", delayedTasks}, {"retries", retries},
		{"uniqueTasks", uniqueTasks}, {"priorities", priorities}, {"groups", groups}, {"scheduler", scheduler},
		{"killedWorker", killedWorker},
	})
}
