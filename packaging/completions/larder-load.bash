# Completes larder-load. Made from the table of options by: make pages

_larder_load() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    case "$before" in
        --csv|--tsv|--ndjson|--parquet|--resp|--rdb|--aof|--mapping|--cacert|--cert|--cert-key|--spill|--rejects|--state) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
        --from|--delimiter|--columns|--key|--string|--list|--set|--zset|--score|--id|--fields|--expire|--expire-at|--host|--port|--user|--db|--workers|--memory) COMPREPLY=() ;;
        *) mapfile -t COMPREPLY < <(compgen -W '--csv --tsv --ndjson --parquet --resp --rdb --aof --from --delimiter --no-header --columns --key --hash --string --list --set --zset --score --stream --id --fields --expire --expire-at --mapping --host --port --user --tls --cacert --cert --cert-key --db --workers --replace --memory --spill --adjacent --rejects --state --dry-run --quiet --help --version' -- "$word") ;;
    esac
}
complete -o filenames -F _larder_load larder-load
