import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.Redisson;
import org.redisson.api.BatchOptions;
import org.redisson.api.RBatch;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RBucket;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RLock;
import org.redisson.api.RMapCache;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RScoredSortedSet;
import org.redisson.api.RSemaphore;
import org.redisson.api.RTopic;
import org.redisson.api.RTransaction;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.api.TransactionOptions;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** Scenarios of Redisson, whose locks and collections are scripts with messages beside them. */
public final class RedissonScenarios {
    private interface Scenario {
        void run(RedissonClient client) throws Exception;
    }

    private interface Work {
        void run(int number) throws Exception;
    }

    public static void main(String[] wanted) {
        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        scenarios.put("locks", RedissonScenarios::locks);
        scenarios.put("readWriteLocks", RedissonScenarios::readWriteLocks);
        scenarios.put("semaphoresAndLatches", RedissonScenarios::semaphoresAndLatches);
        scenarios.put("mapsThatExpire", RedissonScenarios::mapsThatExpire);
        scenarios.put("rateLimits", RedissonScenarios::rateLimits);
        scenarios.put("queues", RedissonScenarios::queues);
        scenarios.put("topics", RedissonScenarios::topics);
        scenarios.put("batches", RedissonScenarios::batches);
        scenarios.put("transactions", RedissonScenarios::transactions);
        scenarios.put("collections", RedissonScenarios::collections);
        Config config = new Config();
        config.setCodec(StringCodec.INSTANCE);
        config.useSingleServer().setAddress("redis://127.0.0.1:" + System.getenv("REDIS_PORT"))
            .setConnectionPoolSize(16).setConnectionMinimumIdleSize(2);
        RedissonClient client = Redisson.create(config);
        boolean failed = false;
        for (Map.Entry<String, Scenario> scenario : scenarios.entrySet()) {
            if (wanted.length > 0 && !List.of(wanted).contains(scenario.getKey())) {
                continue;
            }
            long begin = System.nanoTime();
            try {
                client.getKeys().flushall();
                scenario.getValue().run(client);
                long ms = (System.nanoTime() - begin) / 1_000_000;
                System.out.println("ok   redisson: " + scenario.getKey() + " (" + ms + " ms)");
            } catch (Exception | AssertionError error) {
                failed = true;
                System.out.println("FAIL redisson: " + scenario.getKey() + ": " + error.toString().replaceAll("\\s+", " "));
                error.printStackTrace();
            }
        }
        client.shutdown();
        System.exit(failed ? 1 : 0);
    }

    private static void same(Object got, Object want) {
        if (!Objects.equals(got, want)) {
            throw new AssertionError("got " + got + ", want " + want);
        }
    }

    /** Runs work in threads of its own, with their numbers. */
    private static void together(int count, Work work) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(count);
        List<Future<?>> parts = new ArrayList<>();
        for (int n = 0; n < count; n++) {
            int number = n;
            parts.add(threads.submit(() -> {
                work.run(number);
                return null;
            }));
        }
        for (Future<?> part : parts) {
            part.get(30, TimeUnit.SECONDS);
        }
        threads.shutdown();
    }

    private static void locks(RedissonClient client) throws Exception {
        int[] total = {0};
        together(8, number -> {
            RLock lock = client.getLock("lock");
            for (int turn = 0; turn < 25; turn++) {
                lock.lock();
                try {
                    lock.lock();
                    same(lock.getHoldCount(), 2);
                    total[0]++;
                    lock.unlock();
                } finally {
                    lock.unlock();
                }
            }
        });
        same(total[0], 200);
        RLock lock = client.getLock("lock");
        same(lock.isLocked(), false);
        same(lock.tryLock(0, 300, TimeUnit.MILLISECONDS), true);
        together(1, number -> {
            same(client.getLock("lock").tryLock(), false);
            same(client.getLock("lock").tryLock(5, TimeUnit.SECONDS), true);
            client.getLock("lock").unlock();
        });
        RLock fair = client.getFairLock("fair");
        List<Integer> order = new ArrayList<>();
        fair.lock();
        ExecutorService threads = Executors.newFixedThreadPool(4);
        List<Future<?>> parts = new ArrayList<>();
        for (int n = 0; n < 4; n++) {
            int number = n;
            parts.add(threads.submit(() -> {
                RLock own = client.getFairLock("fair");
                own.lock();
                order.add(number);
                own.unlock();
            }));
            Thread.sleep(100);
        }
        fair.unlock();
        for (Future<?> part : parts) {
            part.get(30, TimeUnit.SECONDS);
        }
        threads.shutdown();
        same(order, List.of(0, 1, 2, 3));
    }

    private static void readWriteLocks(RedissonClient client) throws Exception {
        AtomicInteger readers = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        int[] written = {0};
        together(6, number -> {
            RReadWriteLock lock = client.getReadWriteLock("rw");
            for (int turn = 0; turn < 10; turn++) {
                if (number % 3 == 0) {
                    lock.writeLock().lock();
                    same(readers.get(), 0);
                    written[0]++;
                    lock.writeLock().unlock();
                } else {
                    lock.readLock().lock();
                    most.accumulateAndGet(readers.incrementAndGet(), Math::max);
                    Thread.sleep(1);
                    readers.decrementAndGet();
                    lock.readLock().unlock();
                }
            }
        });
        same(written[0], 20);
        same(most.get() > 1, true);
    }

    private static void semaphoresAndLatches(RedissonClient client) throws Exception {
        client.getSemaphore("semaphore").trySetPermits(3);
        AtomicInteger inside = new AtomicInteger();
        together(8, number -> {
            RSemaphore semaphore = client.getSemaphore("semaphore");
            for (int turn = 0; turn < 10; turn++) {
                semaphore.acquire();
                same(inside.incrementAndGet() <= 3, true);
                inside.decrementAndGet();
                semaphore.release();
            }
        });
        same(client.getSemaphore("semaphore").availablePermits(), 3);
        RCountDownLatch latch = client.getCountDownLatch("latch");
        latch.trySetCount(4);
        together(5, number -> {
            if (number == 4) {
                same(client.getCountDownLatch("latch").await(10, TimeUnit.SECONDS), true);
            } else {
                client.getCountDownLatch("latch").countDown();
            }
        });
        same(latch.getCount(), 0L);
    }

    private static void mapsThatExpire(RedissonClient client) throws Exception {
        RMapCache<String, String> map = client.getMapCache("cache");
        map.put("short", "1", 200, TimeUnit.MILLISECONDS);
        map.put("long", "2", 1, TimeUnit.HOURS);
        same(map.putIfAbsent("long", "3"), "2");
        same(map.get("short"), "1");
        Thread.sleep(300);
        same(map.get("short"), null);
        same(map.readAllMap(), Map.of("long", "2"));
        same(map.replace("long", "2", "4"), true);
        map.setMaxSize(3);
        for (int n = 0; n < 10; n++) {
            map.put("k" + n, "v");
        }
        same(map.size(), 3);
        map.destroy();
    }

    private static void rateLimits(RedissonClient client) {
        RRateLimiter limiter = client.getRateLimiter("limiter");
        limiter.trySetRate(RateType.OVERALL, 5, java.time.Duration.ofSeconds(1));
        int passed = 0;
        for (int n = 0; n < 8; n++) {
            passed += limiter.tryAcquire() ? 1 : 0;
        }
        same(passed, 5);
        long begin = System.nanoTime();
        limiter.acquire(2);
        same(System.nanoTime() - begin > 300_000_000L, true);
    }

    private static void queues(RedissonClient client) throws Exception {
        RBlockingQueue<String> queue = client.getBlockingQueue("queue");
        RDelayedQueue<String> delayed = client.getDelayedQueue(queue);
        delayed.offer("late", 500, TimeUnit.MILLISECONDS);
        delayed.offer("soon", 100, TimeUnit.MILLISECONDS);
        queue.offer("now");
        same(queue.poll(10, TimeUnit.SECONDS), "now");
        same(queue.poll(10, TimeUnit.SECONDS), "soon");
        same(queue.poll(10, TimeUnit.SECONDS), "late");
        delayed.destroy();
        ConcurrentLinkedQueue<String> taken = new ConcurrentLinkedQueue<>();
        together(4, number -> {
            if (number == 0) {
                for (int n = 0; n < 90; n++) {
                    queue.add("item" + n);
                }
            } else {
                for (int n = 0; n < 30; n++) {
                    taken.add(queue.take());
                }
            }
        });
        same(Set.copyOf(taken).size(), 90);
    }

    private static void topics(RedissonClient client) throws Exception {
        RTopic topic = client.getTopic("topic");
        List<String> heard = new ArrayList<>();
        CountDownLatch all = new CountDownLatch(3);
        int listener = topic.addListener(String.class, (channel, message) -> {
            heard.add(message);
            all.countDown();
        });
        for (String message : List.of("a", "b", "c")) {
            same(topic.publish(message), 1L);
        }
        same(all.await(10, TimeUnit.SECONDS), true);
        same(heard, List.of("a", "b", "c"));
        topic.removeListener(listener);
    }

    private static void batches(RedissonClient client) {
        RBatch batch = client.createBatch(BatchOptions.defaults().executionMode(BatchOptions.ExecutionMode.IN_MEMORY_ATOMIC));
        for (int n = 0; n < 500; n++) {
            batch.getAtomicLong("n").incrementAndGetAsync();
            batch.getMap("map").fastPutAsync("f" + n, "v");
        }
        same(batch.execute().getResponses().size(), 1000);
        same(client.getAtomicLong("n").get(), 500L);
        same(client.getMap("map").size(), 500);
    }

    private static void transactions(RedissonClient client) {
        RTransaction transaction = client.createTransaction(TransactionOptions.defaults());
        transaction.getBucket("a").set("1");
        transaction.getMap("m").put("k", "v");
        same(client.getBucket("a").isExists(), false);
        transaction.commit();
        same(client.getBucket("a").get(), "1");
        same(client.getMap("m").get("k"), "v");
        RTransaction undone = client.createTransaction(TransactionOptions.defaults());
        undone.getBucket("a").set("2");
        undone.rollback();
        same(client.getBucket("a").get(), "1");
    }

    private static void collections(RedissonClient client) {
        RBucket<String> bucket = client.getBucket("bucket");
        same(bucket.compareAndSet(null, "x"), true);
        same(bucket.compareAndSet("y", "z"), false);
        same(bucket.getAndSet("y"), "x");
        var list = client.<String>getList("list");
        list.addAll(List.of("a", "b", "c", "b"));
        list.add(1, "inserted");
        same(list.remove("b"), true);
        same(list.readAll(), List.of("a", "inserted", "c", "b"));
        same(list.lastIndexOf("b"), 3);
        RScoredSortedSet<String> sorted = client.getScoredSortedSet("sorted");
        sorted.addAll(Map.of("one", 1.0, "two", 2.0, "three", 3.0));
        same(sorted.rank("two"), 1);
        same(sorted.addAndGetRank(9, "one"), 2);
        same(sorted.pollFirst(), "two");
        var set = client.<String>getSetCache("set");
        same(set.add("a", 1, TimeUnit.HOURS), true);
        same(set.add("a"), false);
        same(set.contains("a"), true);
        same(client.getIdGenerator("ids").nextId(), 1L);
        same(client.getLongAdder("adder").sum(), 0L);
    }
}
