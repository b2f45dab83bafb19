#include "services/tracker/commands.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/config/extract.h"
#include "common/config/profile_request.h"
#include "services/tracker/acts/acts.h"
#include "services/tracker/acts/acts_submit.h"
#include "services/tracker/acts/ending.h"
#include "services/tracker/keep_budgets.h"
#include "services/tracker/pending_again.h"
#include "services/tracker/pending_figures.h"
#include "services/tracker/pending_submit.h"
#include "services/tracker/pushes.h"
#include "services/tracker/vault/vault_letters.h"
#include "services/tracker/vault/vault_submits.h"
#include "services/tracker/ways.h"

enum { COMMANDS_NAMES_MAX = 64 }; /* that a name is compared with */

static void command_say(struct msg_answer *answer, const char *rc, const char *detail)
{
    ald_text_cut(answer->rc, sizeof answer->rc, ald_span_str(rc));
    ald_text_cut(answer->detail, sizeof answer->detail, ald_span_str(detail));
}

/* What is known of a task: enough for an answer to a command. */
static void command_view(struct tracker *self, uint64_t id, struct msg_task_view *view)
{
    const struct pending_task *task = pending_find(self->pending, id);
    struct vault_end end;
    enum ald_state state = ALD_STATE_ACCEPTED;
    struct vault_words words;
    view->task = id;
    vault_task_words(&self->vault, id, &words);
    memcpy(view->key, words.key, sizeof view->key);
    memcpy(view->meta, words.meta, sizeof view->meta);
    memcpy(view->trace, words.trace, sizeof view->trace);
    view->created_at_ms = ald_task_id_wall_ms(id);
    if (task) {
        const struct ald_profile *profile = task->account->profile;
        state = pending_state(task);
        ald_text_cut(view->provider, sizeof view->provider, ald_span_str(profile->name));
        ald_text_cut(view->provider_id, sizeof view->provider_id, ald_span_str(task->provider_id));
        ald_token_make(&self->keys, profile->name, id, 0, view->token);
        view->polls = pending_looked(task)->polls + (task->again ? task->again->polls : 0);
        view->resubmits = task->again ? task->again->count : 0;
        bool waits = task->submit && task->submit->stage == SUBMISSION_WAITING;
        const struct tracker_now now = tracker_now(self);
        view->stale_at_ms = waits ? 0 : now.wall_ms + task->stale_at_ms - now.run_ms;
        view->give_up_at_ms = now.wall_ms + task->give_up_at_ms - now.run_ms;
    } else if (vault_end_find(&self->vault, id, tracker_tail_seq(self, id), &end)) {
        state = end.state;
        ald_text_cut(view->provider_id, sizeof view->provider_id, ald_span_str(end.provider_id));
    }
    ald_text_cut(view->state, sizeof view->state, ald_span_str(ald_state_name(state)));
}

/* The key was used before: the same task again, or a refusal. False: it is new. */
static bool command_repeated(struct tracker *self, const struct msg_register *ask,
                             struct msg_answer *answer, struct msg_task_view *view)
{
    uint64_t task = 0;
    char digest[65];
    if (ask->key[0] == '\0' || !vault_key_find(&self->vault, ask->key, &task, digest))
        return false;
    if (strcmp(digest, ask->digest) != 0) {
        command_say(answer, "conflict", "This Idempotency-Key was used with another body.");
        return true;
    }
    command_view(self, task, view);
    if (vault_task_known(&self->vault, task))
        command_say(answer, "exists", "");
    else
        command_say(answer, "gone", "The task of this Idempotency-Key has been purged.");
    return true;
}

static bool command_id_ok(const char *id)
{
    while ((unsigned char)*id >= 0x20 && *id != 0x7F)
        id++;
    return *id == '\0';
}

/* A request that the profile can't make of this is not taken: it would end as failed, and nobody
 * would wait for that any more. The callback URL is of the length that it will have. */
static enum ald_rc command_rehearse(const struct tracker *self, const struct msg_register *ask,
                                    const struct ald_profile *profile, struct ald_err *err)
{
    char token[ALD_TOKEN_MAX];
    char url[ALD_CALLBACK_URL_MAX];
    ald_token_make(&self->keys, profile->name, 0, 0, token);
    ald_callback_url(url, ask->base, profile->name, token, ask->trace);
    return ald_profile_rehearse(profile, ask->submission, url, err);
}

static void command_nobody(const struct tracker *self, const char *name, struct ald_err *err)
{
    const char *names[COMMANDS_NAMES_MAX];
    size_t count = ald_profiles_count(self->profiles);
    count = count < COMMANDS_NAMES_MAX ? count : COMMANDS_NAMES_MAX;
    for (size_t i = 0; i < count; i++)
        names[i] = ald_profiles_at(self->profiles, i)->name;
    const char *near = ald_text_nearest(name, names, count);
    (void)(near != NULL
               ? ald_err_set(err, ALD_NOTFOUND,
                             "There is no provider %s in the settings; did you mean %s?", name,
                             near)
               : ald_err_set(err, ALD_NOTFOUND, "There is no provider %s in the settings.", name));
}

static const char *command_unfit(const struct tracker *self, const struct msg_register *ask,
                                 const struct ald_profile *profile, struct ald_err *err)
{
    if (profile && ald_profiles_gone(self->profiles, profile))
        return "This provider is not in the settings any more.";
    if (!profile) {
        command_nobody(self, ask->provider, err);
        return err->text;
    }
    if (!command_id_ok(ask->provider_id))
        return "provider_id holds control characters.";
    int64_t stale = ask->stale_after_ms ? ask->stale_after_ms : profile->stale_after_ms;
    int64_t give_up =
        ask->give_up_after_ms ? ask->give_up_after_ms : profile->schedule.give_up_after_ms;
    if (stale < 0 || give_up <= 0)
        return "stale_after and give_up_after must be positive.";
    if (ask->submission.len > 0 && ask->provider_id[0] != '\0')
        return "A task with a provider_id has been submitted already: it can't be submitted again.";
    if (ask->submission.len > 0 && !ald_profile_asks(profile, ALD_STAGE_SUBMIT))
        return "The provider's profile does not say how to submit: submit it yourself and register "
               "it with its provider_id, or reserve a task first, without params.";
    if (ask->submit_within_ms < 0)
        return "submit_within must be positive.";
    if (stale > ALD_LONGEST_MS || give_up > ALD_LONGEST_MS ||
        ask->submit_within_ms > ALD_LONGEST_MS)
        return "stale_after, give_up_after and submit_within are at most 3650d.";
    if (ask->stale_after_ms != 0 && stale > give_up)
        return "stale_after is longer than give_up_after.";
    if (pending_count(self->pending) >= (size_t)self->settings->tracker.max_open)
        return "full";
    if (ask->submission.len > 0 && command_rehearse(self, ask, profile, err) != ALD_OK)
        return err->text;
    return NULL;
}

/* Have it submitted: on disk before anybody is asked. */
static void command_submit(struct tracker *self, const struct msg_register *ask,
                           struct pending_task *task, const struct vault_task *row)
{
    const struct ald_profile *profile = task->account->profile;
    const struct submission facts = {.made_ms = row->made_ms,
                                     .within_ms = ask->submit_within_ms
                                                      ? ask->submit_within_ms
                                                      : ald_profile_submit_within(profile),
                                     .stale_after_ms = row->stale_after_ms,
                                     .give_up_after_ms = row->give_up_after_ms};
    const struct vault_submit submit = {.task = row->id,
                                        .made_ms = row->made_ms,
                                        .within_ms = facts.within_ms,
                                        .base = ald_span_str(ask->base),
                                        .ticket = ald_span_str(ask->ticket),
                                        .body = ask->submission};
    vault_submit_add(&self->vault, &submit);
    pending_submit(self->pending, task, &facts, row->made_ms);
}

static void command_make(struct tracker *self, const struct msg_register *ask,
                         const struct ald_profile *profile, uint64_t id)
{
    const struct tracker_now now = tracker_now(self);
    const struct pending_account *account = pending_account(self->pending, profile);
    struct vault_task row = {
        .id = id,
        .provider = ald_span_str(profile->name),
        .provider_id = ald_span_str(ask->provider_id),
        .key = ald_span_str(ask->key),
        .meta = ald_span_str(ask->meta),
        .trace = ald_span_str(ask->trace),
        .made_ms = now.run_ms,
        .created_ms = now.wall_ms,
        .stale_after_ms =
            ask->stale_after_ms ? ask->stale_after_ms : stale_after_ms(&account->stale, profile),
        .give_up_after_ms =
            ask->give_up_after_ms ? ask->give_up_after_ms : profile->schedule.give_up_after_ms};
    struct pending_facts facts = {.id = id,
                                  .profile = profile,
                                  .provider_id = ask->provider_id,
                                  .made_ms = row.made_ms,
                                  .stale_after_ms = row.stale_after_ms,
                                  .give_up_after_ms = row.give_up_after_ms};
    vault_task_add(&self->vault, &row);
    if (ask->provider_id[0] != '\0') {
        vault_task_attach(&self->vault, id, profile->name, ask->provider_id);
        keep_given(self, profile);
    }
    if (ask->key[0] != '\0')
        vault_key_add(&self->vault, ask->key, id, ask->digest, now.wall_ms);
    ALD_ASSERT(pending_add(self->pending, &facts) == ALD_OK);
    if (ask->pingback[0] != '\0')
        pushes_add(self, pending_find(self->pending, id), ask);
    if (ask->submission.len > 0)
        command_submit(self, ask, pending_find(self->pending, id), &row);
}

/* What polls may need: said with the id, or submitted. */
static struct ald_span command_params(const struct msg_register *ask)
{
    struct ald_json given;
    if (ask->submission.len == 0 || ald_json_scan(ask->submission, &given, NULL) != ALD_OK)
        return ask->params;
    return ald_json_find(given, "/params").raw;
}

static struct way_said command_way(const struct msg_register *ask)
{
    return (struct way_said){
        .poll_url = ask->poll_url, .result_url = ask->result_url, .params = command_params(ask)};
}

void command_register(struct tracker *self, const struct msg_register *ask,
                      struct msg_answer *answer, struct msg_task_view *view)
{
    answer->req = ask->req;
    const struct ald_profile *profile = ald_profiles_find(self->profiles, ask->provider);
    if (command_repeated(self, ask, answer, view))
        return;
    if (ask->valid_until_ms != 0 && tracker_now(self).wall_ms > ask->valid_until_ms) {
        command_say(answer, "busy", "It was read too late: nobody waits for it any more.");
        return;
    }
    const struct way_said way = command_way(ask);
    struct ald_err err = {0};
    const char *unfit = command_unfit(self, ask, profile, &err);
    unfit = unfit ? unfit : way_unfit(profile, &way, &self->kept);
    if (unfit) {
        bool full = strcmp(unfit, "full") == 0;
        /* Not the fault of a facade's client, who named none. */
        bool there = profile && !ald_profiles_gone(self->profiles, profile);
        const char *word = there ? "invalid" : "notfound";
        command_say(answer, full ? "full" : word,
                    full ? "tracker.max_open tasks are open; try again later." : unfit);
        return;
    }
    struct pending_task *same = pending_find_ref(self->pending, ask->provider, ask->provider_id);
    if (same) {
        /* Registered twice: the same open task. A key that came with it is now its name too. */
        if (ask->key[0] != '\0')
            vault_key_add(&self->vault, ask->key, same->id, ask->digest, tracker_now(self).wall_ms);
        way_keep(self, same, &way, ald_buf_span(&self->kept));
        command_view(self, same->id, view);
        command_say(answer, "exists", "");
        return;
    }
    uint64_t id = ald_idgen_next(&self->ids, tracker_now(self).wall_ms);
    command_make(self, ask, profile, id);
    way_keep(self, pending_find(self->pending, id), &way, ald_buf_span(&self->kept));
    act_unpark(self, id);
    command_view(self, id, view);
    ald_text_cut(view->provider, sizeof view->provider, ald_span_str(ask->provider));
    command_say(answer, "ok", "");
}

const char *command_again_unfit(struct tracker *self, const struct msg_register *ask)
{
    const struct ald_profile *profile = ald_profiles_find(self->profiles, ask->provider);
    const struct way_said way = command_way(ask);
    struct ald_err err = {0};
    const char *unfit = command_unfit(self, ask, profile, &err);
    unfit = unfit ? unfit : way_unfit(profile, &way, &self->kept);
    if (!unfit)
        return NULL;
    ald_log(ALD_WARN, "again.unfit", "provider=%s text=%s", ask->provider, ALD_Q(unfit));
    return strcmp(unfit, "full") == 0 ? "full" : "unfit";
}

uint64_t command_again(struct tracker *self, const struct msg_register *ask, const char **why)
{
    const struct way_said way = command_way(ask);
    *why = command_again_unfit(self, ask);
    if (*why)
        return 0;
    uint64_t id = ald_idgen_next(&self->ids, tracker_now(self).wall_ms);
    command_make(self, ask, ald_profiles_find(self->profiles, ask->provider), id);
    way_keep(self, pending_find(self->pending, id), &way, ald_buf_span(&self->kept));
    return id;
}

/* Is it open, and its profile not loaded? Then the store alone has it, and nothing can be done. */
static bool command_orphaned(struct tracker *self, uint64_t id)
{
    struct vault_end end;
    return self->orphans > 0 && id >= self->lowest_orphan &&
           !vault_end_find(&self->vault, id, tracker_tail_seq(self, id), &end);
}

/* The open task that a command names; else the answer says why there is none. */
static struct pending_task *command_open(struct tracker *self, uint64_t id,
                                         struct msg_answer *answer, struct msg_task_view *view)
{
    struct pending_task *task = pending_find(self->pending, id);
    if (task)
        return task;
    if (!vault_task_known(&self->vault, id)) {
        command_say(answer, "notfound", "There is no task of this id.");
        return NULL;
    }
    command_view(self, id, view);
    if (command_orphaned(self, id))
        command_say(answer, "conflict",
                    "The profile of the task's provider is not loaded: put it into the settings, "
                    "have them read again, and say it again.");
    else
        command_say(answer, "exists", "The task has ended.");
    return NULL;
}

void command_attach(struct tracker *self, const struct msg_attach *ask, struct msg_answer *answer,
                    struct msg_task_view *view)
{
    answer->req = ask->req;
    struct pending_task *task = command_open(self, ask->task, answer, view);
    if (!task)
        return;
    const char *provider = task->account->profile->name;
    bool same = strcmp(task->provider_id, ask->provider_id) == 0;
    if (ask->provider_id[0] == '\0' || !command_id_ok(ask->provider_id)) {
        command_say(answer, "invalid", "provider_id is empty or holds control characters.");
        return;
    }
    const struct way_said way = {
        .poll_url = ask->poll_url, .result_url = ask->result_url, .params = ask->params};
    const char *unfit = way_unfit(task->account->profile, &way, &self->kept);
    if (unfit) {
        command_say(answer, "invalid", unfit);
        return;
    }
    bool joins = task->submit && task->submit->stage != SUBMISSION_WAITING; /* another attempt's */
    if (task->provider_id[0] != '\0' && !same && !joins) {
        command_say(answer, "conflict", "The task has another provider id.");
        return;
    }
    if (!same && !pending_find_ref(self->pending, provider, ask->provider_id))
        submit_known(self, task);
    if (!same &&
        pending_attach(self->pending, task, ask->provider_id, tracker_now(self).run_ms) != ALD_OK) {
        command_say(answer, "conflict", "Another open task has this provider id.");
        return;
    }
    way_keep(self, task, &way, ald_buf_span(&self->kept));
    if (!same) {
        vault_task_attach(&self->vault, task->id, provider, ask->provider_id);
        keep_given(self, task->account->profile);
        vault_note(&self->vault, task->id, tracker_now(self).wall_ms, "attached", ask->provider_id);
        act_unpark(self, task->id);
    }
    command_view(self, ask->task, view);
    command_say(answer, "ok", "");
}

void command_cancel(struct tracker *self, const struct msg_cancel *ask, struct msg_answer *answer,
                    struct msg_task_view *view)
{
    answer->req = ask->req;
    struct pending_task *task = command_open(self, ask->task, answer, view);
    if (!task)
        return;
    if (task->submit && task->submit->stage == SUBMISSION_STARTED)
        submit_unsure(self, task); /* the provider may have it: a letter says so, dropped with it */
    struct ending ending = {.state = ALD_STATE_CANCELLED,
                            .source = ALD_SOURCE_MANUAL,
                            .code = "",
                            .received_ms = tracker_now(self).wall_ms,
                            .trace = ""};
    ending_apply(self, &task, &ending);
    command_view(self, ask->task, view);
    command_say(answer, "ok", "");
}

void command_withdraw(struct tracker *self, const struct msg_withdraw *ask,
                      struct msg_answer *answer, struct msg_task_view *view)
{
    answer->req = ask->req;
    uint64_t id = vault_submit_ticket(&self->vault, ask->ticket);
    struct pending_task *task = id != 0 ? pending_find(self->pending, id) : NULL;
    if (!task) {
        command_say(answer, "notfound", "There is no such registration.");
        return;
    }
    /* Leased or not: nothing is sent before its start is on disk. */
    bool waits =
        task->submit && task->submit->stage == SUBMISSION_WAITING && task->submit->resubmit == 0;
    if (waits) {
        struct ending ending = {.state = ALD_STATE_CANCELLED,
                                .source = ALD_SOURCE_MANUAL,
                                .code = "withdrawn",
                                .received_ms = tracker_now(self).wall_ms,
                                .trace = ""};
        ending_apply(self, &task, &ending);
    }
    command_view(self, id, view);
    command_say(answer, waits ? "ok" : "exists",
                waits ? "" : "It may have been submitted already.");
}
