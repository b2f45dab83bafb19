/* bench_store - how many rows a second the store takes: one append-only row of 400 bytes, in
 * batches of so many a commit, each commit on disk. bench_store [FOLDER [SECONDS]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/store/store.h"

enum { ROW_BYTES = 400, SECONDS_MAX = 3600 };

static const struct ald_store_step bench_steps[] = {
    {1, 1, "CREATE TABLE rows(n INTEGER PRIMARY KEY, body BLOB NOT NULL)"},
};

static enum ald_rc bench_commit(ald_store_t *store, int64_t first, int64_t count)
{
    static const uint8_t body[ROW_BYTES] = {1};
    enum ald_rc rc = ald_store_begin(store);
    for (int64_t n = first; n < first + count && rc == ALD_OK; n++) {
        ald_stmt_t *stmt = NULL;
        rc = ald_store_prepare(store, "INSERT INTO rows(n, body) VALUES(?, ?)", &stmt);
        if (rc != ALD_OK)
            break;
        ald_stmt_bind_i64(stmt, 1, n);
        ald_stmt_bind_blob(stmt, 2, ald_span_of(body, sizeof body));
        rc = ald_stmt_run(stmt);
    }
    return rc == ALD_OK ? ald_store_commit(store) : rc;
}

static enum ald_rc bench_run(const char *path, int64_t batch, int64_t for_ms)
{
    const struct ald_store_options options = {.path = path,
                                              .application_id = 0x62656e63,
                                              .steps = bench_steps,
                                              .step_count = ALD_COUNT(bench_steps)};
    struct ald_err err = {0};
    ald_store_t *store = NULL;
    enum ald_rc rc = ald_store_open(&options, &store, &err);
    if (rc != ALD_OK) {
        fprintf(stderr, "%s\n", err.text);
        return rc;
    }
    int64_t start_ms = ald_clock_now().mono_ms;
    int64_t spent_ms = 0;
    int64_t rows = 0;
    while (rc == ALD_OK && spent_ms < for_ms) {
        rc = bench_commit(store, rows + 1, batch);
        rows += batch;
        spent_ms = ald_clock_now().mono_ms - start_ms;
    }
    ald_store_destroy(&store);
    if (rc == ALD_OK && spent_ms > 0)
        printf("batch %4lld: %9lld rows/s, %7lld commits/s, %7.2f us a row\n", (long long)batch,
               (long long)(rows * 1000 / spent_ms), (long long)(rows / batch * 1000 / spent_ms),
               (double)spent_ms * 1000 / (double)rows);
    return rc;
}

int main(int argc, char **argv)
{
    static const int64_t batches[] = {1, 16, 64, 512};
    char folder[] = "./bench-store-XXXXXX";
    char path[512];
    int64_t seconds = 2;
    if (argc > 2 && (ald_text_i64(ald_span_str(argv[2]), &seconds) != ALD_OK || seconds < 1 ||
                     seconds > SECONDS_MAX))
        return 64;
    if ((argc > 1 ? chdir(argv[1]) : 0) != 0 || mkdtemp(folder) == NULL) {
        fprintf(stderr, "No folder to work in.\n");
        return 69;
    }
    enum ald_rc rc = ALD_OK;
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
    for (size_t i = 0; i < ALD_COUNT(batches) && rc == ALD_OK; i++) {
        snprintf(path, sizeof path, "%s/store.db", folder);
        rc = bench_run(path, batches[i], seconds * 1000);
        for (size_t s = 0; s < ALD_COUNT(suffixes); s++) {
            snprintf(path, sizeof path, "%s/store.db%s", folder, suffixes[s]);
            unlink(path);
        }
    }
    rmdir(folder);
    if (rc != ALD_OK)
        fprintf(stderr, "%s\n", ald_rc_name(rc));
    return rc == ALD_OK ? 0 : 1;
}
