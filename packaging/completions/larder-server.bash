# Completes larder-server. Made from the table of options by: make pages

_larder_server() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    case "$before" in
        --console-writable) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --mptcp) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --protected-mode) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --acl-pubsub-default) mapfile -t COMPREPLY < <(compgen -W 'allchannels resetchannels' -- "$word") ;;
        --enable-protected-configs) mapfile -t COMPREPLY < <(compgen -W 'no yes local' -- "$word") ;;
        --enable-debug-command) mapfile -t COMPREPLY < <(compgen -W 'no yes local' -- "$word") ;;
        --enable-module-command) mapfile -t COMPREPLY < <(compgen -W 'no yes local' -- "$word") ;;
        --import-mode) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --extended-redis-compatibility) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --daemonize) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --supervised) mapfile -t COMPREPLY < <(compgen -W 'upstart systemd auto no' -- "$word") ;;
        --loglevel) mapfile -t COMPREPLY < <(compgen -W 'debug verbose notice warning nothing' -- "$word") ;;
        --log-format) mapfile -t COMPREPLY < <(compgen -W 'legacy logfmt json' -- "$word") ;;
        --log-timestamp-format) mapfile -t COMPREPLY < <(compgen -W 'legacy iso8601 milliseconds' -- "$word") ;;
        --hide-user-data-from-log) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --syslog-enabled) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --syslog-facility) mapfile -t COMPREPLY < <(compgen -W 'user local0 local1 local2 local3 local4 local5 local6 local7' -- "$word") ;;
        --always-show-logo) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --set-proc-title) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --crash-log-enabled) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --shutdown-on-sigint) mapfile -t COMPREPLY < <(compgen -W 'default save nosave now force safe failover' -- "$word") ;;
        --shutdown-on-sigterm) mapfile -t COMPREPLY < <(compgen -W 'default save nosave now force safe failover' -- "$word") ;;
        --oom-score-adj) mapfile -t COMPREPLY < <(compgen -W 'no yes relative absolute' -- "$word") ;;
        --disable-thp) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --jemalloc-bg-thread) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --maxmemory-policy) mapfile -t COMPREPLY < <(compgen -W 'volatile-lru volatile-lfu volatile-random volatile-ttl allkeys-lru allkeys-lfu allkeys-random noeviction' -- "$word") ;;
        --lazyfree-lazy-eviction) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --lazyfree-lazy-expire) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --lazyfree-lazy-server-del) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --lazyfree-lazy-user-del) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --lazyfree-lazy-user-flush) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --activedefrag) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --list-compress-codec) mapfile -t COMPREPLY < <(compgen -W 'lzf lz4 zstd' -- "$word") ;;
        --hash-shared-fields) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --compress-on-load) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --rdbchecksum) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --rdbcompression) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --rdb-del-sync-files) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --rdb-save-incremental-fsync) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --rdb-target-version) mapfile -t COMPREPLY < <(compgen -W '10 11 80' -- "$word") ;;
        --rdb-version-check) mapfile -t COMPREPLY < <(compgen -W 'strict relaxed' -- "$word") ;;
        --stop-writes-on-bgsave-error) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --appendonly) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --appendfsync) mapfile -t COMPREPLY < <(compgen -W 'everysec always no' -- "$word") ;;
        --no-appendfsync-on-rewrite) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --aof-rewrite-incremental-fsync) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --aof-load-truncated) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --aof-use-rdb-preamble) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --aof-timestamp-enabled) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --replica-serve-stale-data) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --slave-serve-stale-data) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --replica-read-only) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --slave-read-only) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --replica-lazy-flush) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --slave-lazy-flush) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --replica-ignore-maxmemory) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --slave-ignore-maxmemory) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --replica-ignore-disk-write-errors) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --replica-announced) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --repl-disable-tcp-nodelay) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --repl-diskless-sync) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --repl-diskless-load) mapfile -t COMPREPLY < <(compgen -W 'disabled on-empty-db swapdb flush-before-load' -- "$word") ;;
        --repl-compression) mapfile -t COMPREPLY < <(compgen -W 'no lz4 zstd' -- "$word") ;;
        --repl-mptcp) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --propagation-error-behavior) mapfile -t COMPREPLY < <(compgen -W 'ignore panic panic-on-replicas' -- "$word") ;;
        --cluster-enabled) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --cluster-config-save-behavior) mapfile -t COMPREPLY < <(compgen -W 'sync best-effort' -- "$word") ;;
        --cluster-replica-no-failover) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --cluster-slave-no-failover) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --cluster-allow-replica-migration) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --cluster-allow-reads-when-down) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --cluster-allow-pubsubshard-when-down) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --cluster-require-full-coverage) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --cluster-preferred-endpoint-type) mapfile -t COMPREPLY < <(compgen -W 'ip hostname unknown-endpoint' -- "$word") ;;
        --cluster-slot-stats-enabled) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --tls-cluster) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --tls-replication) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --tls-auth-clients) mapfile -t COMPREPLY < <(compgen -W 'no yes optional' -- "$word") ;;
        --tls-auth-clients-user) mapfile -t COMPREPLY < <(compgen -W 'CN URI off' -- "$word") ;;
        --tls-prefer-server-ciphers) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --tls-session-caching) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --latency-tracking) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word") ;;
        --unixsocket|--aclfile|--pidfile|--logfile|--cluster-config-file|--tls-cert-file|--tls-key-file|--tls-client-cert-file|--tls-client-key-file|--tls-ca-cert-file) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
        --dir|--tls-ca-cert-dir) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
        *)
            if [[ $word == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W '--help --version --check-config --check-system --test-memory --health --sentinel --bind --bind-source-addr --port --unixsocket --unixsocketgroup --unixsocketperm --tcp-backlog --tcp-keepalive --timeout --metrics-port --metrics-bind --metrics-hosts --console-port --console-bind --console-hosts --console-writable --maxclients --max-new-connections-per-cycle --socket-mark-id --mptcp --protected-mode --requirepass --aclfile --acllog-max-len --acl-pubsub-default --enable-protected-configs --enable-debug-command --enable-module-command --client-output-buffer-limit --client-query-buffer-limit --proto-max-bulk-len --maxmemory-clients --tracking-table-max-keys --import-mode --extended-redis-compatibility --threads --io-threads --daemonize --supervised --pidfile --loglevel --logfile --log-format --log-timestamp-format --hide-user-data-from-log --syslog-enabled --syslog-ident --syslog-facility --always-show-logo --set-proc-title --proc-title-template --crash-log-enabled --availability-zone --dir --shutdown-on-sigint --shutdown-on-sigterm --shutdown-timeout --oom-score-adj --oom-score-adj-values --disable-thp --jemalloc-bg-thread --server-cpulist --server_cpulist --bio-cpulist --bio_cpulist --aof-rewrite-cpulist --aof_rewrite_cpulist --bgsave-cpulist --bgsave_cpulist --hz --databases --maxmemory --maxmemory-policy --maxmemory-samples --maxmemory-eviction-tenacity --lfu-log-factor --lfu-decay-time --active-expire-effort --lazyfree-lazy-eviction --lazyfree-lazy-expire --lazyfree-lazy-server-del --lazyfree-lazy-user-del --lazyfree-lazy-user-flush --activedefrag --active-defrag-cycle-min --active-defrag-cycle-max --active-defrag-cycle-us --active-defrag-threshold-lower --active-defrag-threshold-upper --active-defrag-ignore-bytes --list-max-listpack-size --list-max-ziplist-size --list-compress-depth --list-compress-codec --hash-max-listpack-entries --hash-max-ziplist-entries --hash-max-listpack-value --hash-max-ziplist-value --hash-shared-fields --compress-on-load --compress-idle-time --set-max-intset-entries --set-max-listpack-entries --set-max-listpack-value --zset-max-listpack-entries --zset-max-ziplist-entries --zset-max-listpack-value --zset-max-ziplist-value --stream-node-max-bytes --stream-node-max-entries --hll-sparse-max-bytes --hash-seed --notify-keyspace-events --save --dbfilename --rdbchecksum --rdbcompression --rdb-del-sync-files --rdb-save-incremental-fsync --rdb-target-version --rdb-version-check --stop-writes-on-bgsave-error --appendonly --appendfilename --appenddirname --appendfsync --no-appendfsync-on-rewrite --auto-aof-rewrite-percentage --auto-aof-rewrite-min-size --aof-rewrite-incremental-fsync --aof-load-truncated --aof-use-rdb-preamble --aof-timestamp-enabled --replicaof --slaveof --masterauth --primaryauth --masteruser --primaryuser --replica-serve-stale-data --slave-serve-stale-data --replica-read-only --slave-read-only --replica-lazy-flush --slave-lazy-flush --replica-ignore-maxmemory --slave-ignore-maxmemory --replica-ignore-disk-write-errors --replica-announced --replica-announce-ip --slave-announce-ip --replica-announce-port --slave-announce-port --replica-priority --slave-priority --min-replicas-to-write --min-slaves-to-write --min-replicas-max-lag --min-slaves-max-lag --repl-backlog-size --repl-backlog-ttl --repl-disable-tcp-nodelay --repl-diskless-sync --repl-diskless-sync-delay --repl-diskless-sync-max-replicas --repl-diskless-load --repl-compression --repl-mptcp --repl-ping-replica-period --repl-ping-slave-period --repl-timeout --propagation-error-behavior --cluster-enabled --cluster-config-file --cluster-config-save-behavior --cluster-databases --cluster-port --cluster-node-timeout --cluster-blacklist-ttl --cluster-manual-failover-timeout --cluster-migration-barrier --cluster-replica-validity-factor --cluster-slave-validity-factor --cluster-replica-no-failover --cluster-slave-no-failover --cluster-allow-replica-migration --cluster-allow-reads-when-down --cluster-allow-pubsubshard-when-down --cluster-require-full-coverage --cluster-link-sendbuf-limit --cluster-preferred-endpoint-type --cluster-announce-ip --cluster-announce-client-ipv4 --cluster-announce-client-ipv6 --cluster-announce-client-port --cluster-announce-client-tls-port --cluster-announce-hostname --cluster-announce-human-nodename --cluster-announce-port --cluster-announce-tls-port --cluster-announce-bus-port --cluster-slot-migration-log-max-len --cluster-slot-stats-enabled --slot-migration-max-failover-repl-bytes --tls-port --tls-cluster --tls-replication --tls-auth-clients --tls-auth-clients-user --tls-auto-reload-interval --tls-prefer-server-ciphers --tls-session-caching --tls-session-cache-size --tls-session-cache-timeout --max-new-tls-connections-per-cycle --tls-cert-file --tls-key-file --tls-key-file-pass --tls-client-cert-file --tls-client-key-file --tls-client-key-file-pass --tls-ca-cert-file --tls-ca-cert-dir --tls-protocols --tls-ciphers --tls-ciphersuites --slowlog-log-slower-than --commandlog-execution-slower-than --slowlog-max-len --commandlog-slow-execution-max-len --commandlog-request-larger-than --commandlog-large-request-max-len --commandlog-reply-larger-than --commandlog-large-reply-max-len --latency-monitor-threshold --latency-tracking --latency-tracking-info-percentiles --busy-reply-threshold --lua-time-limit' -- "$word")
            elif [[ $COMP_CWORD == 1 ]]; then
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
            fi ;;
    esac
}
complete -o filenames -F _larder_server larder-server
