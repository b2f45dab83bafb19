/* A tracker's file with tasks in each state, callbacks, letters and consumers in it, and any values
 * in the place of its columns: the tracker reads it back, or says why not; it asserts nothing of
 * what a disk says. */
#include <stdio.h>

#include "common/store/mark.h"
#include "services/tracker/acts/acts.h"
#include "services/tracker/consumers/consumers.h"
#include "services/tracker/keep.h"
#include "services/tracker/keep_budgets.h"
#include "services/tracker/vault/vault_consumers.h"
#include "services/tracker/vault/verify.h"
#include "tests/fuzz/damage.h"
#include "tests/unit/tracker/stage.h"

static struct stage *stage;

static enum ald_rc rows_open(void)
{
    struct tracker *tracker = &stage->tracker;
    struct ald_err err = {0};
    *tracker = (struct tracker){.settings = &stage->settings, .profiles = stage->profiles};
    ald_buf_init(&tracker->scratch, 1 << 20);
    ald_buf_init(&tracker->kept, 1 << 13);
    ald_buf_init(&tracker->evidence, 1 << 20);
    enum ald_rc rc = ald_mark_open(damage_path("tracker.mark"), &tracker->mark, &err);
    ALD_ASSERT(rc == ALD_OK);
    const struct vault_options options = {.data = damage_folder(), .sync_beside = true};
    rc = vault_open(&tracker->vault, &options, &err);
    if (rc != ALD_OK)
        return rc;
    tracker->consumers = consumers_new(tracker);
    rc = keep_read_back(tracker, &err);
    ALD_ASSERT(rc == ALD_OK || err.text[0] != '\0');
    tracker->open = rc == ALD_OK;
    return rc;
}

static void rows_close(void)
{
    struct tracker *tracker = &stage->tracker;
    if (tracker->consumers)
        consumers_destroy(&tracker->consumers);
    keep_forget(tracker);
    vault_close(&tracker->vault);
    ald_mark_destroy(&tracker->mark);
    ald_buf_free(&tracker->scratch);
    ald_buf_free(&tracker->kept);
    ald_buf_free(&tracker->evidence);
}

static void rows_consumer(void)
{
    /* Two names, one run of three that the second of them holds. */
    static const uint8_t flight[] = {1, 2, 1, 'a', 1, 'b', 0, 3, 6, 0, 2};
    struct vault *vault = &stage->tracker.vault;
    struct vault_consumer row = {.name = ald_span_str("books"),
                                 .max_deliver = 5,
                                 .ack_wait_ms = 30000,
                                 .max_ack_pending = 1000,
                                 .lane = vault->lane,
                                 .handed = vault->last_seq,
                                 .flight = ald_span_of(flight, sizeof flight)};
    vault_begin(vault);
    vault_consumer_add(vault, &row);
    enum ald_rc rc = vault_commit(vault);
    ALD_ASSERT(rc == ALD_OK);
}

static void rows_first(void)
{
    void *state = NULL;
    if (stage)
        return;
    (void)stage_setup(&state);
    stage = state;
    for (unsigned i = 0; i < 4; i++) {
        char id[8];
        char query[32];
        (void)snprintf(id, sizeof id, "%u", 70 + i);
        (void)snprintf(query, sizeof query, "id=%u&code=A", 70 + i);
        uint64_t task = stage_register(stage, i < 2 ? "two" : "bare", id);
        const struct stage_callback callback = {.task = task, .query = query};
        (void)stage_take(stage, &callback);
    }
    (void)stage_register(stage, "two", "90");
    (void)stage_register(stage, "thin", "91");
    const struct stage_callback unknown = {.provider = "bare", .query = "id=99&code=B"};
    (void)stage_take(stage, &unknown);
    const struct stage_callback broken = {.query = "nothing=1", .fault = "malformed"};
    (void)stage_take(stage, &broken);
    rows_consumer();
    stage_stop(stage);
    damage_learn(stage->tracker.vault.store);
    char path[FOLDER_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s", folder_file(&stage->folder, "tracker.db"));
    rows_close();
    damage_remember(path);
    folder_remove(&stage->folder);
}

static void rows_use(void)
{
    struct tracker *tracker = &stage->tracker;
    vault_begin(&tracker->vault);
    act_due(tracker, 100);
    act_parked_due(tracker, 100);
    keep_budgets(tracker);
    if (tracker_commit(tracker))
        keep_last(tracker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.left = ald_span_of(data, size)};
    uint8_t how = input_byte(&in);
    rows_first();
    damage_restore(damage_path("tracker.db"));
    enum ald_rc rc = rows_open();
    ALD_ASSERT(rc == ALD_OK);
    bool damaged = damage_do(stage->tracker.vault.store, &in);
    rows_close();
    if ((how & 1) != 0)
        damage_look(verify_look);
    rc = rows_open();
    ALD_ASSERT(rc == ALD_OK || damaged);
    if (rc == ALD_OK && (how & 2) != 0)
        rows_use();
    rows_close();
    return 0;
}
