import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.JedisClusterCRC16;

/** Jedis in cluster mode: it writes while a primary is killed and while slots move, and nothing is lost that a replica had. */
public final class JedisClusterScenarios {
    public static void main(String[] arguments) {
        String name = "jedis on a cluster: nothingIsLost";
        long begin = System.nanoTime();
        try {
            nothingIsLost();
            System.out.println("ok   " + name + " (" + (System.nanoTime() - begin) / 1_000_000 + " ms)");
        } catch (Exception | AssertionError error) {
            error.printStackTrace();
            System.out.println("FAIL " + name + ": " + String.valueOf(error).replaceAll("\\s+", " "));
            System.exit(1);
        }
        System.exit(0);
    }

    private static void nothingIsLost() throws Exception {
        Process process = new ProcessBuilder("python3", System.getenv("CLUSTERS_PROGRAM"))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader output = new BufferedReader(new InputStreamReader(process.getInputStream()));
        Set<HostAndPort> nodes = new HashSet<>();
        Matcher ports = Pattern.compile("\\d+").matcher(output.readLine());
        while (ports.find()) {
            nodes.add(new HostAndPort("127.0.0.1", Integer.parseInt(ports.group())));
        }
        try (JedisCluster cluster = new JedisCluster(nodes, 2000)) {
            CompletableFuture<List<String>> over = CompletableFuture.supplyAsync(() -> twoLines(output));
            List<Integer> kept = new ArrayList<>();
            int count = 0;
            while (!over.isDone()) {
                count += 1;
                if (write(cluster, "key:" + count, String.valueOf(count))) {
                    kept.add(count);
                }
            }
            check(over.get().equals(List.of("killed", "resharded")), over.get().toString());
            check(kept.size() > 100, kept.size() + " of " + count + " were acknowledged");
            for (int number : kept) {
                String value = cluster.get("key:" + number);
                check(String.valueOf(number).equals(value), "key:" + number + " is " + value);
            }
            for (int number = 0; number < 200; number++) {
                check(cluster.set("after:" + number, "1").equals("OK"), "writes go on");
            }
        } finally {
            process.getOutputStream().close();
            process.waitFor();
        }
    }

    /** Whether a write was acknowledged, and a replica had it then: both are asked of one connection. */
    private static boolean write(JedisCluster cluster, String key, String value) {
        try (Connection connection = cluster.getConnectionFromSlot(JedisClusterCRC16.getSlot(key))) {
            connection.sendCommand(Protocol.Command.SET, key, value);
            connection.sendCommand(Protocol.Command.WAIT, "1", "1000");
            List<Object> replies = connection.getMany(2);
            if (replies.get(0) instanceof byte[] status && new String(status).equals("OK")) {
                return Long.valueOf(1).equals(replies.get(1));
            }
        } catch (JedisException passing) {
            // It is asked again below.
        }
        try {
            // It follows redirections, and learns of them.
            cluster.set(key, value);
        } catch (JedisException passing) {
            // Nobody leads there for now.
        }
        return false;
    }

    private static List<String> twoLines(BufferedReader output) {
        try {
            return List.of(String.valueOf(output.readLine()), String.valueOf(output.readLine()));
        } catch (java.io.IOException error) {
            return List.of(error.toString());
        }
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}
