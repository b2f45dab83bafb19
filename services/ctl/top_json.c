#include "services/ctl/top.h"

#include <stdio.h>

/* A member that is a number; where it can't be told, null. */
static void json_rate(struct ald_buf *out, const char *name, double rate, bool first)
{
    ald_buf_printf(out, "%s\"%s\":", first ? "" : ",", name);
    if (rate < 0)
        ald_buf_put_str(out, "null");
    else
        ald_buf_printf(out, "%.3f", rate);
}

static void json_rates(const struct top_look *before, const struct top_look *now,
                       struct ald_buf *out)
{
    static const struct top_look none = {0};
    const struct top_look *was = before ? before : &none;
    ald_buf_put_str(out, ",\"rates\":{");
    for (size_t i = 0; i < TOP_NETS; i++)
        json_rate(out, TOP_NET_NAMES[i], top_rate(before, now, was->net[i], now->net[i]), i == 0);
    json_rate(out, "received", top_rate(before, now, was->received, now->received), false);
    json_rate(out, "polled", top_rate(before, now, was->asked, now->asked), false);
    json_rate(out, "ended", top_rate(before, now, was->ended, now->ended), false);
    ald_buf_put_byte(out, '}');
}

static void json_int(struct ald_buf *out, const char *name, int64_t value)
{
    ald_buf_printf(out, ",\"%s\":%lld", name, (long long)value);
}

static void json_bool(struct ald_buf *out, const char *name, bool value)
{
    ald_buf_printf(out, ",\"%s\":%s", name, value ? "true" : "false");
}

static void json_letters(const struct top_look *now, struct ald_buf *out)
{
    ald_buf_put_str(out, ",\"reasons\":{");
    for (size_t i = 0; i < now->reasons; i++)
        ald_buf_printf(out, "%s\"%s\":%lld", i > 0 ? "," : "", now->reason[i].name,
                       (long long)now->reason[i].count);
    ald_buf_put_byte(out, '}');
    json_int(out, "letters_open", now->letters_open);
    json_int(out, "letters_held", now->letters_held);
}

void top_json(const struct top_look *before, const struct top_look *now, struct ald_buf *out)
{
    ald_buf_printf(out, "{\"at_ms\":%lld", (long long)now->wall_ms);
    json_bool(out, "gateway", now->there);
    json_bool(out, "tracker", now->there && now->tracker);
    json_bool(out, "dlq", now->there && now->dlq);
    json_rates(before, now, out);
    if (now->there && now->tracker) {
        json_int(out, "open", now->open);
        json_int(out, "oldest_at_ms", now->oldest_at_ms);
        json_int(out, "parked", now->parked);
        json_int(out, "pollers", now->pollers);
        json_bool(out, "balanced", now->unbalanced[0] == '\0');
    }
    if (now->there)
        json_int(out, "spool", now->spool_items);
    if (now->there && now->dlq)
        json_letters(now, out);
    if (now->there && now->consumers_told)
        json_int(out, "lag", now->lag);
    ald_buf_put_str(out, "}\n");
}
