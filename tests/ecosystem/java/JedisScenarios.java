import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.params.XAutoClaimParams;
import redis.clients.jedis.params.XReadGroupParams;
import redis.clients.jedis.resps.ScanResult;
import redis.clients.jedis.resps.StreamEntry;

/** Scenarios of Jedis against the server at REDIS_PORT: a line for each, exit code 1 when one fails. */
public final class JedisScenarios {
    private static final int PORT = Integer.parseInt(System.getenv("REDIS_PORT"));

    private interface Scenario {
        void run(Jedis jedis) throws Exception;
    }

    public static void main(String[] wanted) {
        Map<String, Scenario> scenarios = new java.util.LinkedHashMap<>();
        scenarios.put("pool", JedisScenarios::pool);
        scenarios.put("pipelined", JedisScenarios::pipelined);
        scenarios.put("transactions", JedisScenarios::transactions);
        scenarios.put("scripts", JedisScenarios::scripts);
        scenarios.put("functions", JedisScenarios::functions);
        scenarios.put("publishSubscribe", JedisScenarios::publishSubscribe);
        scenarios.put("streams", JedisScenarios::streams);
        scenarios.put("locks", JedisScenarios::locks);
        scenarios.put("scans", JedisScenarios::scans);
        boolean failed = false;
        for (Map.Entry<String, Scenario> scenario : scenarios.entrySet()) {
            if (wanted.length > 0 && !List.of(wanted).contains(scenario.getKey())) {
                continue;
            }
            long begin = System.nanoTime();
            try (Jedis jedis = new Jedis("127.0.0.1", PORT)) {
                jedis.flushAll();
                scenario.getValue().run(jedis);
                long ms = (System.nanoTime() - begin) / 1_000_000;
                System.out.println("ok   jedis: " + scenario.getKey() + " (" + ms + " ms)");
            } catch (Exception | AssertionError error) {
                failed = true;
                System.out.println("FAIL jedis: " + scenario.getKey() + ": " + error.toString().replaceAll("\\s+", " "));
                error.printStackTrace();
            }
        }
        System.exit(failed ? 1 : 0);
    }

    private static void same(Object got, Object want) {
        if (!Objects.equals(got, want)) {
            throw new AssertionError("got " + got + ", want " + want);
        }
    }

    /** Many threads share few connections. */
    private static void pool(Jedis jedis) throws Exception {
        JedisPoolConfig config = new JedisPoolConfig();
        config.setMaxTotal(4);
        config.setTestOnBorrow(true);
        ExecutorService threads = Executors.newFixedThreadPool(16);
        try (JedisPool pool = new JedisPool(config, "127.0.0.1", PORT)) {
            List<Future<?>> work = new ArrayList<>();
            for (int n = 0; n < 400; n++) {
                work.add(threads.submit(() -> {
                    try (Jedis own = pool.getResource()) {
                        own.incr("n");
                    }
                }));
            }
            for (Future<?> part : work) {
                part.get(20, TimeUnit.SECONDS);
            }
        }
        threads.shutdown();
        same(jedis.get("n"), "400");
    }

    private static void pipelined(Jedis jedis) {
        Pipeline pipeline = jedis.pipelined();
        List<Response<Long>> responses = new ArrayList<>();
        for (int n = 0; n < 3000; n++) {
            responses.add(pipeline.rpush("list", "v" + n));
        }
        Response<String> wrong = pipeline.get("list");
        Response<Map<String, String>> map = pipeline.hgetAll("none");
        pipeline.sync();
        same(responses.get(2999).get(), 3000L);
        same(map.get(), Map.of());
        try {
            wrong.get();
            throw new AssertionError("no error");
        } catch (JedisDataException error) {
            same(error.getMessage().startsWith("WRONGTYPE"), true);
        }
    }

    private static void transactions(Jedis jedis) throws Exception {
        Transaction transaction = jedis.multi();
        Response<String> set = transaction.set("k", "1");
        Response<Long> incremented = transaction.incr("k");
        transaction.exec();
        same(set.get(), "OK");
        same(incremented.get(), 2L);
        jedis.watch("k");
        try (Jedis other = new Jedis("127.0.0.1", PORT)) {
            other.set("k", "9");
        }
        transaction = jedis.multi();
        transaction.incr("k");
        same(transaction.exec(), null);
        same(jedis.get("k"), "9");
        transaction = jedis.multi();
        transaction.incr("k");
        same(transaction.discard(), "OK");
        same(jedis.get("k"), "9");
    }

    private static void scripts(Jedis jedis) {
        String script = "if redis.call('exists', KEYS[1]) == 1 then return redis.call('incrby', KEYS[1], ARGV[1]) end "
            + "redis.call('set', KEYS[1], ARGV[1]) return {KEYS[1], tonumber(ARGV[1]), {true, false}}";
        List<Object> inner = new ArrayList<>(List.of(1L));
        inner.add(null);
        same(jedis.eval(script, List.of("k"), List.of("5")), List.of("k", 5L, inner));
        String sha = jedis.scriptLoad(script);
        same(jedis.evalsha(sha, List.of("k"), List.of("2")), 7L);
        same(jedis.scriptExists(sha), true);
        jedis.scriptFlush();
        try {
            jedis.evalsha(sha, List.of("k"), List.of("2"));
            throw new AssertionError("no error");
        } catch (JedisNoScriptException expected) {
            same(jedis.scriptExists(sha), false);
        }
        try {
            jedis.eval("return redis.call('lpush', KEYS[1], 1)", 1, "k");
            throw new AssertionError("no error");
        } catch (JedisDataException error) {
            same(error.getMessage().startsWith("WRONGTYPE"), true);
        }
        same(jedis.evalReadonly("return redis.call('get', KEYS[1])", List.of("k"), List.of()), "7");
    }

    private static void functions(Jedis jedis) {
        String code = "#!lua name=math\nredis.register_function('add', function(keys, args) return args[1] + args[2] end)";
        same(jedis.functionLoad(code), "math");
        same(jedis.fcall("add", List.of(), List.of("2", "3")), 5L);
        byte[] dump = jedis.functionDump();
        jedis.functionFlush();
        same(jedis.functionList().size(), 0);
        jedis.functionRestore(dump);
        same(jedis.fcall("add", List.of(), List.of("4", "5")), 9L);
        same(jedis.functionList().get(0).getLibraryName(), "math");
        jedis.functionDelete("math");
    }

    private static void publishSubscribe(Jedis jedis) throws Exception {
        List<String> heard = new ArrayList<>();
        CountDownLatch ready = new CountDownLatch(1);
        JedisPubSub listener = new JedisPubSub() {
            @Override
            public void onSubscribe(String channel, int count) {
                ready.countDown();
            }

            @Override
            public void onMessage(String channel, String message) {
                heard.add(message);
                if (message.equals("end")) {
                    unsubscribe();
                }
            }
        };
        Thread thread = new Thread(() -> {
            try (Jedis own = new Jedis("127.0.0.1", PORT)) {
                own.subscribe(listener, "channel");
            }
        });
        thread.start();
        same(ready.await(10, TimeUnit.SECONDS), true);
        for (String message : List.of("one", "two", "end")) {
            same(jedis.publish("channel", message), 1L);
        }
        thread.join(10_000);
        same(heard, List.of("one", "two", "end"));
    }

    private static void streams(Jedis jedis) {
        jedis.xgroupCreate("s", "g", new StreamEntryID(), true);
        for (int n = 0; n < 12; n++) {
            jedis.xadd("s", StreamEntryID.NEW_ENTRY, Map.of("n", "" + n));
        }
        XReadGroupParams five = XReadGroupParams.xReadGroupParams().count(5);
        Map<String, StreamEntryID> fresh = Map.of("s", StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY);
        same(jedis.xreadGroup("g", "crashed", five, fresh).get(0).getValue().size(), 5);
        Set<StreamEntryID> done = new HashSet<>();
        for (var read = jedis.xreadGroup("g", "alive", five, fresh); read != null; read = jedis.xreadGroup("g", "alive", five, fresh)) {
            for (StreamEntry entry : read.get(0).getValue()) {
                done.add(entry.getID());
                same(jedis.xack("s", "g", entry.getID()), 1L);
            }
        }
        same(done.size(), 7);
        var claimed = jedis.xautoclaim("s", "g", "alive", 0, new StreamEntryID(), new XAutoClaimParams().count(100));
        same(claimed.getValue().size(), 5);
        same(jedis.xpending("s", "g").getTotal(), 5L);
        same(jedis.xinfoStream("s").getLength(), 12L);
    }

    private static void locks(Jedis jedis) throws Exception {
        String release = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
        int[] total = {0};
        ExecutorService threads = Executors.newFixedThreadPool(4);
        List<Future<?>> work = new ArrayList<>();
        try (JedisPooled pooled = new JedisPooled("127.0.0.1", PORT)) {
            for (int n = 0; n < 4; n++) {
                String token = "token" + n;
                work.add(threads.submit(() -> {
                    for (int turn = 0; turn < 20; turn++) {
                        while (pooled.set("lock", token, SetParams.setParams().nx().px(10_000)) == null) {
                            Thread.sleep(1);
                        }
                        total[0]++;
                        same(pooled.eval(release, List.of("lock"), List.of(token)), 1L);
                    }
                    return null;
                }));
            }
            for (Future<?> part : work) {
                part.get(20, TimeUnit.SECONDS);
            }
        }
        threads.shutdown();
        same(total[0], 80);
        same(jedis.exists("lock"), false);
    }

    private static void scans(Jedis jedis) {
        Pipeline pipeline = jedis.pipelined();
        for (int n = 0; n < 1000; n++) {
            pipeline.set("key:" + n, "" + n);
        }
        pipeline.sync();
        Set<String> seen = new HashSet<>();
        String cursor = ScanParams.SCAN_POINTER_START;
        do {
            ScanResult<String> part = jedis.scan(cursor, new ScanParams().match("key:*").count(100));
            seen.addAll(part.getResult());
            cursor = part.getCursor();
        } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
        same(seen.size(), 1000);
    }
}
