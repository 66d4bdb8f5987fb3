"""RQ: queues, schedules, retries, registries, and workers that die."""

import time
from datetime import timedelta

import redis
from rq import Callback, Queue, Repeat, Retry, Worker
from rq.command import send_shutdown_command, send_stop_job_command
from rq.job import Dependency, Job, JobStatus

import rq_tasks as tasks
from rq_tasks import notes
from scenario import PORT, URL, end, run, start_module, wait_for, workers

connection = redis.Redis(port=PORT)
queue = Queue(connection=connection)

def start_worker(name, *options):
    start_module(
        "rq.cli", "worker", "-u", URL, "-n", name, "--with-scheduler", "-q", "--worker-ttl", "20",
        "--maintenance-interval", "1", "--job-monitoring-interval", "1", *options, "high", "default", "low")


def status(job):
    return job.get_status(refresh=True)


def finished(job, seconds=30):
    assert wait_for(lambda: status(job) == JobStatus.FINISHED, seconds), status(job)
    return job.return_value(refresh=True)


def results():
    assert finished(queue.enqueue(tasks.add, 2, 3)) == 5
    jobs = [queue.enqueue(tasks.add, n, n) for n in range(10)]
    assert [finished(job) for job in jobs] == [2 * n for n in range(10)]
    assert len(queue.finished_job_registry) == 11


def many_at_once():
    with connection.pipeline() as pipe:
        jobs = queue.enqueue_many(
            [Queue.prepare_data(tasks.add, args=(n, 1)) for n in range(10)], pipeline=pipe)
        pipe.execute()
    assert [finished(job) for job in jobs] == [n + 1 for n in range(10)]


def failures():
    job = queue.enqueue(tasks.fail, "on purpose")
    assert wait_for(lambda: status(job) == JobStatus.FAILED)
    assert job.id in queue.failed_job_registry
    assert wait_for(lambda: "on purpose" in (job.latest_result().exc_string if job.latest_result() else ""))
    queue.failed_job_registry.requeue(job.id)
    assert wait_for(lambda: len(job.results()) == 2 and status(job) == JobStatus.FAILED)


def retries():
    job = queue.enqueue(tasks.flaky, "flaky", 2, retry=Retry(max=3))
    assert finished(job) == 3
    job = queue.enqueue(tasks.flaky, "spaced", 1, retry=Retry(max=2, interval=[1, 1]))
    assert finished(job) == 2


def schedules():
    begin = time.time()
    job = queue.enqueue_in(timedelta(seconds=1), tasks.add, 1, 1)
    assert status(job) == JobStatus.SCHEDULED and job.id in queue.scheduled_job_registry
    assert finished(job) == 2 and time.time() - begin >= 0.9


def repeats():
    queue.enqueue(tasks.note, "again", repeat=Repeat(times=2, interval=1))
    assert wait_for(lambda: notes.llen("notes") == 3), notes.lrange("notes", 0, -1)


def dependencies():
    first = queue.enqueue(tasks.note, "first")
    second = queue.enqueue(tasks.note, "second", depends_on=first)
    third = queue.enqueue(tasks.note, "third", depends_on=Dependency(jobs=[first, second]))
    finished(third)
    assert notes.lrange("notes", 0, -1) == ["first", "second", "third"]


def callbacks():
    finished(queue.enqueue(tasks.add, 20, 3, on_success=Callback(tasks.succeeded)))
    assert wait_for(lambda: notes.lrange("notes", 0, -1) == ["callback 23"])


def queues_in_order():
    """Jobs wait while nobody works; then the queues are emptied in their order."""
    send_shutdown_command(connection, "one")
    workers[0].wait(20)
    for name in ["low", "default", "high"]:
        Queue(name, connection=connection).enqueue(tasks.note, name)
    assert Queue("high", connection=connection).count == 1
    start_worker("two")
    assert wait_for(lambda: notes.llen("notes") == 3)
    assert notes.lrange("notes", 0, -1) == ["high", "default", "low"]


def stop_a_job():
    job = queue.enqueue(tasks.hang, "stopped")
    assert wait_for(lambda: notes.get("stopped"))
    send_stop_job_command(connection, job.id)
    assert wait_for(lambda: status(job) == JobStatus.STOPPED)


def dead_process():
    """The process of a job is killed: the worker sees it and the job has failed."""
    job = queue.enqueue(tasks.die, "died")
    assert wait_for(lambda: status(job) == JobStatus.FAILED)
    assert job.id in queue.failed_job_registry and notes.get("died") == "1"


def dead_worker():
    """The worker is killed with its job: the job is found abandoned and another worker runs it again."""
    job = queue.enqueue(tasks.hang, "abandoned", retry=Retry(max=1), job_timeout=600)
    assert wait_for(lambda: notes.get("abandoned"))
    end(workers[-1])
    # As if a minute without heartbeats had passed.
    for entry in connection.zrange("rq:wip:default", 0, -1):
        connection.zadd("rq:wip:default", {entry: time.time() - 1})
    start_worker("three")
    assert finished(job, 60) == "finished"


def names_and_counts():
    assert {worker.name for worker in Worker.all(connection=connection)} >= {"three"}
    job = queue.enqueue(tasks.add, 1, 2, job_id="known", meta={"by": "test"}, result_ttl=60)
    finished(job)
    assert Job.fetch("known", connection=connection).meta == {"by": "test"}
    assert 0 < connection.ttl("rq:job:known") <= 60
    job.delete()
    assert not Job.exists("known", connection=connection)
    queue.empty()
    assert queue.is_empty()


connection.flushall()
start_worker("one")
try:
    run("rq", [
        results, many_at_once, failures, retries, schedules, repeats, dependencies, callbacks, queues_in_order, stop_a_job,
        dead_process, dead_worker, names_and_counts,
    ], before=notes.flushdb)
finally:
    for started in workers:
        end(started)
