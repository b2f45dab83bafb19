/* How the API shows what the desk of the letters says: groups, dry runs, bulk replays. */
#include "services/gateway/json_view.h"

void view_letter_group(struct json_out *out, const struct msg_letter_group *group)
{
    json_out_object(out, NULL);
    json_out_text(out, "reason", group->reason);
    json_out_text(out, "cause", group->cause);
    json_out_text(out, "provider", group->provider);
    json_out_int(out, "count", (int64_t)group->count);
    json_out_time(out, "oldest_ms", group->oldest_at_ms);
    json_out_time(out, "newest_ms", group->newest_at_ms);
    json_out_text(out, "example", group->example);
    json_out_close_object(out);
}

void view_judged(struct json_out *out, const struct msg_judged *judged)
{
    json_out_object(out, "dry_run");
    json_out_bool(out, "tried", judged->disposition[0] != '\0');
    json_out_text(out, "disposition", judged->disposition);
    json_out_text(out, "reason", judged->reason);
    json_out_text(out, "why", judged->why);
    json_out_id(out, "task", judged->task);
    json_out_text(out, "task_state", judged->task_state);
    json_out_text(out, "state", judged->state);
    json_out_text(out, "provider_id", judged->provider_id);
    json_out_text(out, "then", judged->then);
    json_out_text(out, "rule", judged->rule);
    json_out_text(out, "code", judged->code);
    json_out_text(out, "code_row", judged->code_row);
    json_out_text(out, "class", judged->code_class);
    json_out_close_object(out);
}

static void view_replay_filter(struct json_out *out, const struct msg_replay *replay)
{
    json_out_object(out, "filter");
    json_out_text(out, "reason", replay->reason);
    json_out_text(out, "provider", replay->provider);
    json_out_text(out, "state", replay->letter_state);
    json_out_id(out, "task", replay->task);
    json_out_time(out, "since", replay->since_ms);
    json_out_time(out, "until", replay->until_ms);
    json_out_text(out, "q", replay->q);
    json_out_text(out, "consumer", replay->consumer);
    json_out_close_object(out);
}

void view_replay(struct json_out *out, const struct msg_replay *replay)
{
    json_out_text(out, "id", replay->replay);
    json_out_text(out, "state", replay->state);
    view_replay_filter(out, replay);
    json_out_int(out, "rate", (int64_t)replay->rate);
    json_out_bool(out, "believe", replay->believe);
    json_out_bool(out, "buy", replay->buy);
    json_out_bool(out, "publish", replay->publish);
    json_out_bool(out, "dry_run", replay->dry_run);
    json_out_text(out, "by", replay->by);
    json_out_time(out, "made_ms", replay->made_at_ms);
    json_out_time(out, "begun_ms", replay->begun_at_ms);
    json_out_time(out, "ended_ms", replay->ended_at_ms);
    json_out_int(out, "total", (int64_t)replay->total);
    json_out_int(out, "scanned", (int64_t)replay->scanned);
    json_out_int(out, "seen", (int64_t)replay->seen);
    json_out_int(out, "replayed", (int64_t)replay->replayed);
    json_out_int(out, "answered", (int64_t)replay->answered);
    json_out_int(out, "skipped", (int64_t)replay->skipped);
    json_out_text(out, "note", replay->note);
}

void view_replay_count(struct json_out *out, const struct msg_replay_count *count)
{
    json_out_object(out, NULL);
    json_out_text(out, "result", count->result);
    json_out_text(out, "reason", count->reason);
    json_out_text(out, "why", count->why);
    json_out_int(out, "count", (int64_t)count->count);
    json_out_close_object(out);
}
