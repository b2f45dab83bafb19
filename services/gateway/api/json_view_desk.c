/* How the API shows what the desk of the letters says: groups, dry runs, bulk replays. */
#include "services/gateway/api/json_view.h"

void view_letter_group(struct ald_json_out *out, const struct msg_letter_group *group)
{
    ald_json_out_object(out, NULL);
    ald_json_out_text(out, "reason", group->reason);
    ald_json_out_text(out, "cause", group->cause);
    ald_json_out_text(out, "provider", group->provider);
    ald_json_out_int(out, "count", (int64_t)group->count);
    ald_json_out_time(out, "oldest_ms", group->oldest_at_ms);
    ald_json_out_time(out, "newest_ms", group->newest_at_ms);
    ald_json_out_text(out, "example", group->example);
    ald_json_out_close_object(out);
}

void view_judged(struct ald_json_out *out, const struct msg_judged *judged)
{
    ald_json_out_object(out, "dry_run");
    ald_json_out_bool(out, "tried", judged->disposition[0] != '\0');
    ald_json_out_text(out, "disposition", judged->disposition);
    ald_json_out_text(out, "reason", judged->reason);
    ald_json_out_text(out, "why", judged->why);
    ald_json_out_id(out, "task", judged->task);
    ald_json_out_text(out, "task_state", judged->task_state);
    ald_json_out_text(out, "state", judged->state);
    ald_json_out_text(out, "provider_id", judged->provider_id);
    ald_json_out_text(out, "then", judged->then);
    ald_json_out_text(out, "rule", judged->rule);
    ald_json_out_text(out, "code", judged->code);
    ald_json_out_text(out, "code_row", judged->code_row);
    ald_json_out_text(out, "class", judged->code_class);
    ald_json_out_close_object(out);
}

static void view_replay_filter(struct ald_json_out *out, const struct msg_replay *replay)
{
    ald_json_out_object(out, "filter");
    ald_json_out_text(out, "reason", replay->reason);
    ald_json_out_text(out, "provider", replay->provider);
    ald_json_out_text(out, "state", replay->letter_state);
    ald_json_out_id(out, "task", replay->task);
    ald_json_out_time(out, "since", replay->since_ms);
    ald_json_out_time(out, "until", replay->until_ms);
    ald_json_out_text(out, "q", replay->q);
    ald_json_out_text(out, "consumer", replay->consumer);
    ald_json_out_close_object(out);
}

void view_replay(struct ald_json_out *out, const struct msg_replay *replay)
{
    ald_json_out_text(out, "id", replay->replay);
    ald_json_out_text(out, "state", replay->state);
    view_replay_filter(out, replay);
    ald_json_out_int(out, "rate", (int64_t)replay->rate);
    ald_json_out_bool(out, "believe", replay->believe);
    ald_json_out_bool(out, "buy", replay->buy);
    ald_json_out_bool(out, "publish", replay->publish);
    ald_json_out_bool(out, "dry_run", replay->dry_run);
    ald_json_out_text(out, "by", replay->by);
    ald_json_out_time(out, "made_ms", replay->made_at_ms);
    ald_json_out_time(out, "begun_ms", replay->begun_at_ms);
    ald_json_out_time(out, "ended_ms", replay->ended_at_ms);
    ald_json_out_int(out, "total", (int64_t)replay->total);
    ald_json_out_int(out, "scanned", (int64_t)replay->scanned);
    ald_json_out_int(out, "seen", (int64_t)replay->seen);
    ald_json_out_int(out, "replayed", (int64_t)replay->replayed);
    ald_json_out_int(out, "answered", (int64_t)replay->answered);
    ald_json_out_int(out, "skipped", (int64_t)replay->skipped);
    ald_json_out_text(out, "note", replay->note);
}

void view_replay_count(struct ald_json_out *out, const struct msg_replay_count *count)
{
    ald_json_out_object(out, NULL);
    ald_json_out_text(out, "result", count->result);
    ald_json_out_text(out, "reason", count->reason);
    ald_json_out_text(out, "why", count->why);
    ald_json_out_int(out, "count", (int64_t)count->count);
    ald_json_out_close_object(out);
}
