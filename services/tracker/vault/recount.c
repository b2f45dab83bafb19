#include "services/tracker/vault/recount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "proto/words.h"
#include "services/tracker/vault/vault_purge.h"

/* Of vault_letters.h, whose rows these are. */
enum { RECOUNT_LETTER_OPEN, RECOUNT_LETTER_RESOLVED, RECOUNT_LETTER_DROPPED };

void recount_begin(struct recount *self)
{
    *self = (struct recount){0};
}

/* ---- rows ---- */

static void recount_book(struct recount *self, unsigned first, unsigned count, int64_t which)
{
    if (which >= 0 && which < (int64_t)count)
        self->sums.counted[first + (unsigned)which]++;
    else
        self->sums.strange++;
}

static void recount_arrival(struct recount *self, ald_stmt_t *stmt)
{
    self->arrival = ald_stmt_i64(stmt, 0);
    self->sums.arrivals++;
    recount_book(self, BOOK_DISPOSITION, ALD_DISP_COUNT, ald_stmt_i64(stmt, 1));
}

static void recount_result(struct recount *self, ald_stmt_t *stmt)
{
    self->result = ald_stmt_i64(stmt, 0);
    self->sums.homeless += ald_stmt_i64(stmt, 3);
    if (ald_stmt_i64(stmt, 5) != 0) {
        self->sums.counted[BOOK_CORRECTIONS]++;
        self->sums.astray += ald_stmt_i64(stmt, 6);
        return;
    }
    self->sums.results++;
    recount_book(self, BOOK_STATE, ALD_STATE_COUNT, ald_stmt_i64(stmt, 1));
    recount_book(self, BOOK_SOURCE, ALD_SOURCE_COUNT, ald_stmt_i64(stmt, 2));
    self->sums.twice += ald_stmt_i64(stmt, 4);
}

static void recount_task(struct recount *self, ald_stmt_t *stmt)
{
    self->task = ald_stmt_i64(stmt, 0);
    self->sums.tasks++;
}

static void recount_letter(struct recount *self, ald_stmt_t *stmt)
{
    int64_t state = ald_stmt_i64(stmt, 1);
    ald_text_cut(self->letter, sizeof self->letter, ald_stmt_text(stmt, 0));
    self->sums.letters++;
    if (state == RECOUNT_LETTER_RESOLVED || state == RECOUNT_LETTER_DROPPED)
        self->sums.counted[state == RECOUNT_LETTER_RESOLVED ? BOOK_LETTERS_RESOLVED
                                                            : BOOK_LETTERS_DROPPED]++;
    else if (state != RECOUNT_LETTER_OPEN)
        self->sums.strange++;
}

typedef void recount_row_fn(struct recount *self, ald_stmt_t *stmt);

/* The rest of a table, at most *left rows of it. */
static enum ald_rc recount_table(struct recount *self, ald_store_t *store, const char *sql,
                                 const int64_t *after, recount_row_fn *row, int64_t *left)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = *left > 0 ? ald_store_prepare(store, sql, &stmt) : ALD_OK;
    if (!stmt)
        return rc;
    if (after)
        ald_stmt_bind_i64(stmt, 1, *after);
    else
        ald_stmt_bind_str(stmt, 1, self->letter);
    ald_stmt_bind_i64(stmt, 2, *left);
    const int64_t all = *left;
    const int64_t before = after ? *after : 0;
    char letter[sizeof self->letter];
    memcpy(letter, self->letter, sizeof letter);
    while ((rc = ald_stmt_step(stmt)) == ALD_OK) {
        row(self, stmt);
        --*left;
    }
    ald_stmt_reset(stmt);
    /* In a damaged tree rows may come that are not beyond the last one: nothing would end then. */
    bool further = after ? *after > before : strcmp(self->letter, letter) > 0;
    if (rc == ALD_NOTFOUND && *left < all && !further)
        return ALD_CORRUPT;
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

/* *left stays above 0 when the ends of all tables were reached. */
static enum ald_rc recount_rows(struct recount *self, ald_store_t *store, int64_t *left)
{
    enum ald_rc rc = recount_table(
        self, store, "SELECT no, disposition FROM arrivals WHERE no > ?1 ORDER BY no LIMIT ?2",
        &self->arrival, recount_arrival, left);
    if (rc == ALD_OK)
        rc = recount_table(
            self, store,
            "SELECT r.seq, r.state, r.source,"
            " r.seq > COALESCE((SELECT value FROM facts WHERE name = '" VAULT_HIDDEN "'), 0)"
            " AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = r.task),"
            " EXISTS (SELECT 1 FROM finds f LEFT JOIN results o ON o.seq = f.no WHERE f.task = "
            "r.task"
            " AND f.kind = 0 AND f.no <> r.seq AND COALESCE(o.corrects, 0) = 0), r.corrects,"
            " EXISTS (SELECT 1 FROM results o WHERE o.seq = r.corrects AND o.task <> r.task)"
            " FROM results r WHERE r.seq > ?1 ORDER BY r.seq LIMIT ?2",
            &self->result, recount_result, left);
    if (rc == ALD_OK)
        rc = recount_table(self, store, "SELECT id FROM tasks WHERE id > ?1 ORDER BY id LIMIT ?2",
                           &self->task, recount_task, left);
    if (rc == ALD_OK)
        rc = recount_table(
            self, store,
            "SELECT letter, state FROM letters WHERE letter > ?1 AND " ALD_STORE_IS_ID(
                "letter") " ORDER BY letter LIMIT ?2",
            NULL, recount_letter, left);
    return rc;
}

/* ---- books ---- */

static enum ald_rc recount_read(ald_store_t *store, struct books *out)
{
    *out = (struct books){0};
    for (unsigned i = 0; i < BOOK_COUNT; i++) {
        ald_stmt_t *stmt = NULL;
        enum ald_rc rc = ald_store_prepare(store, "SELECT value FROM books WHERE name = ?1", &stmt);
        if (rc != ALD_OK)
            return rc;
        ald_stmt_bind_str(stmt, 1, books_name(i));
        rc = ald_stmt_step(stmt);
        if (rc == ALD_OK)
            out->value[i] = ald_stmt_i64(stmt, 0);
        ald_stmt_reset(stmt);
        if (rc != ALD_OK && rc != ALD_NOTFOUND)
            return rc;
    }
    return ALD_OK;
}

/* Did a row that was counted change or go? Rows that were only added do not matter. */
static bool recount_moved(const struct recount *self)
{
    static const unsigned signs[] = {BOOK_MOVED, BOOK_TASKS_PURGED, BOOK_LETTERS_RESOLVED,
                                     BOOK_LETTERS_DROPPED, BOOK_CORRECTIONS_PURGED};
    for (size_t i = 0; i < ALD_COUNT(signs); i++)
        if (self->before.value[signs[i]] != self->now.value[signs[i]])
            return true;
    for (unsigned d = 0; d < ALD_DISP_COUNT; d++)
        if (self->before.value[BOOK_PURGED + d] != self->now.value[BOOK_PURGED + d])
            return true;
    for (unsigned s = 0; s < ALD_STATE_COUNT; s++) /* one that was corrected goes before its task */
        if (self->before.value[BOOK_STATE_PURGED + s] != self->now.value[BOOK_STATE_PURGED + s])
            return true;
    /* Ids of letters rise with the clock; one that was set back may have put some in between. */
    return self->sums.letters != self->now.value[BOOK_LETTERS_MADE] &&
           self->before.value[BOOK_LETTERS_MADE] != self->now.value[BOOK_LETTERS_MADE];
}

static enum ald_rc recount_end(struct recount *self, ald_store_t *store)
{
    enum ald_rc rc = recount_read(store, &self->now);
    if (rc != ALD_OK || !recount_moved(self))
        return rc;
    unsigned tries = self->tries + 1;
    recount_begin(self);
    self->tries = tries;
    return tries < RECOUNT_TRIES ? ALD_AGAIN : ALD_TIMEOUT;
}

enum ald_rc recount_page(struct recount *self, ald_store_t *store)
{
    int64_t left = RECOUNT_PAGE_ROWS;
    enum ald_rc rc = ald_store_begin(store);
    if (rc != ALD_OK)
        return rc;
    if (!self->begun)
        rc = recount_read(store, &self->before);
    self->begun = true;
    if (rc == ALD_OK)
        rc = recount_rows(self, store, &left);
    if (rc == ALD_OK)
        rc = left > 0 ? recount_end(self, store) : ALD_AGAIN;
    ald_store_rollback(store);
    return rc;
}

/* ---- what was found ---- */

struct recount_line {
    recount_fn *fn;
    void *context;
};

/* A count, of which `gone` rows were purged, against what the books say. */
static void recount_say(const struct recount_line *line, const char *name, int64_t rows,
                        int64_t gone, int64_t book)
{
    char problem[ALD_TEXT_MAX] = "";
    if (rows + gone != book)
        (void)snprintf(problem, sizeof problem,
                       "%s: the books say %" PRId64 ", there are %" PRId64 " rows and %" PRId64
                       " were purged",
                       name, book, rows, gone);
    line->fn(line->context, name, rows, problem);
}

/* Something of which there must be none. */
static void recount_none(const struct recount_line *line, const char *name, int64_t rows,
                         const char *what)
{
    char problem[ALD_TEXT_MAX] = "";
    if (rows != 0)
        (void)snprintf(problem, sizeof problem, "%" PRId64 " %s", rows, what);
    line->fn(line->context, name, rows, problem);
}

/* Books first .. first + count against the rows and what was purged of each. */
static void recount_group(const struct recount *self, const struct recount_line *line,
                          unsigned first, unsigned purged, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (strncmp(books_name(first + i), "unused", 6) != 0)
            recount_say(line, books_name(first + i), self->sums.counted[first + i],
                        self->now.value[purged + i], self->now.value[first + i]);
}

int64_t recount_open(const struct recount *self)
{
    /* Ended tasks whose end was purged, and whose correction is still here. */
    int64_t endless = -self->now.value[BOOK_TASKS_PURGED];
    for (unsigned s = 0; s < ALD_STATE_COUNT; s++)
        endless += self->now.value[BOOK_STATE_PURGED + s];
    return self->sums.tasks - self->sums.results - endless;
}

void recount_tell(const struct recount *self, recount_fn *fn, void *context)
{
    const struct recount_line line = {.fn = fn, .context = context};
    const int64_t *books = self->now.value;
    const struct recount_sums *sums = &self->sums;
    int64_t purged = 0;
    for (unsigned d = 0; d < ALD_DISP_COUNT; d++)
        purged += books[BOOK_PURGED + d];
    recount_say(&line, "arrivals.received", sums->arrivals, purged, books[BOOK_RECEIVED]);
    recount_group(self, &line, BOOK_DISPOSITION, BOOK_PURGED, ALD_DISP_COUNT);
    recount_say(&line, "tasks.created", sums->tasks, books[BOOK_TASKS_PURGED], books[BOOK_CREATED]);
    recount_group(self, &line, BOOK_STATE, BOOK_STATE_PURGED, ALD_STATE_COUNT);
    int64_t open = books[BOOK_CREATED];
    for (unsigned s = 0; s < ALD_STATE_COUNT; s++)
        open -= books[BOOK_STATE + s];
    recount_say(&line, "tasks.open", recount_open(self), 0, open);
    recount_group(self, &line, BOOK_SOURCE, BOOK_SOURCE_PURGED, ALD_SOURCE_COUNT);
    recount_say(&line, "corrections.published", sums->counted[BOOK_CORRECTIONS],
                books[BOOK_CORRECTIONS_PURGED], books[BOOK_CORRECTIONS]);
    int64_t closed = sums->counted[BOOK_LETTERS_RESOLVED] + sums->counted[BOOK_LETTERS_DROPPED];
    recount_say(&line, "letters.made", sums->letters, 0, books[BOOK_LETTERS_MADE]);
    recount_say(&line, "letters.open", sums->letters - closed, 0,
                books[BOOK_LETTERS_MADE] - books[BOOK_LETTERS_RESOLVED] -
                    books[BOOK_LETTERS_DROPPED]);
    recount_say(&line, "letters.resolved", sums->counted[BOOK_LETTERS_RESOLVED], 0,
                books[BOOK_LETTERS_RESOLVED]);
    recount_say(&line, "letters.dropped", sums->counted[BOOK_LETTERS_DROPPED], 0,
                books[BOOK_LETTERS_DROPPED]);
    recount_none(&line, "results.homeless", sums->homeless,
                 "results are of tasks that are not there");
    recount_none(&line, "results.twice", sums->twice, "results are of tasks that have another one");
    recount_none(&line, "corrections.astray", sums->astray,
                 "corrections are of results of another task");
    recount_none(&line, "rows.strange", sums->strange, "rows are in a state that is none");
}
