#include "replay.h"

#include <openssl/sha.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 80, HEX = 16, MARK_SLOTS = 2, MARK_AT = 4096, MARK_ROOM = 96, MARK_SUM = 32 };

static const struct {
    const char *db, *mark;
    const char *texts; /* where tokens lie */
    const char *exact; /* a row is a token and nothing else */
    const char *sums;  /* rows here are faults: (what, number) */
} PLACES[STORES] = {
    [STORE_TRACKER] =
        {"tracker.db", "tracker.mark",
         "SELECT message FROM arrivals WHERE length(message) > 0 UNION ALL"
         " SELECT message FROM outbox UNION ALL SELECT task_key FROM tasks",
         "SELECT result FROM results",
         "WITH b AS (SELECT name, value FROM books),"
         " d(name, no) AS (VALUES ('arrivals.applied', 0), ('arrivals.progress', 1),"
         "  ('arrivals.duplicate', 2), ('arrivals.parked', 3), ('arrivals.dead', 4),"
         "  ('arrivals.dropped', 5)),"
         " v(what, wanted, found) AS ("
         "  SELECT 'received', (SELECT count(*) FROM arrivals),"
         "   coalesce((SELECT value FROM b WHERE name = 'arrivals.received'), 0) UNION ALL"
         "  SELECT 'sum of dispositions', (SELECT count(*) FROM arrivals),"
         "   coalesce((SELECT sum(value) FROM b JOIN d USING (name)), 0) UNION ALL"
         "  SELECT 'tasks', (SELECT count(*) FROM tasks),"
         "   coalesce((SELECT value FROM b WHERE name = 'tasks.created'), 0) UNION ALL"
         "  SELECT 'results', (SELECT count(*) FROM results),"
         "   coalesce((SELECT value FROM b WHERE name = 'tasks.done'), 0) UNION ALL"
         "  SELECT 'applied', (SELECT count(*) FROM results),"
         "   coalesce((SELECT value FROM b WHERE name = 'arrivals.applied'), 0) UNION ALL"
         "  SELECT 'letters', (SELECT count(*) FROM letters),"
         "   coalesce((SELECT value FROM b WHERE name = 'letters.made'), 0) UNION ALL"
         "  SELECT 'outbox without its letter', 0, (SELECT count(*) FROM outbox o WHERE closes = 0"
         "   AND NOT EXISTS (SELECT 1 FROM letters l WHERE l.letter = o.letter)))"
         " SELECT what, wanted, found FROM v WHERE wanted <> found"},
    [STORE_LETTERS] = {"letters.db", "letters.db.mark", "SELECT bytes FROM originals", NULL,
                       "SELECT 'letters', (SELECT count(*) FROM letters) AS f,"
                       " (SELECT coalesce(sum(count), 0) FROM tallies) AS w WHERE f <> w"
                       " UNION ALL SELECT 'messages without a letter', 0, count(*) AS n"
                       " FROM originals o WHERE NOT EXISTS"
                       "  (SELECT 1 FROM letters l WHERE l.letter = o.letter) HAVING n > 0"},
    [STORE_SPOOL] = {"spool/spool.db", NULL, "SELECT bytes FROM spool", NULL,
                     "SELECT 'damaged', 0, count(*) AS n FROM damaged HAVING n > 0"},
};

/* ---- tokens: as token() and key() of power.py make them ---- */

static size_t pad_of(uint64_t x)
{
    return (x >> 16) % ((x >> 8) % 8 == 0 ? 6000 : 60);
}

static bool pad_is(const uint8_t *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] != 'x')
            return false;
    }
    return true;
}

/* The token at the beginning of text: its length, 0 = none or not whole. */
static size_t token_at(const uint8_t *text, size_t len, uint64_t *number)
{
    size_t at = 1;
    if (len < HEX + 4 || text[0] != 'k')
        return 0;
    for (*number = 0; at < 18 && at < len && text[at] >= '0' && text[at] <= '9'; at++)
        *number = *number * 10 + (text[at] - '0');
    uint64_t x = record_mixed(*number);
    if (at == 1 || len - at < HEX + 2 || text[at] != '-' || !record_hex_is(text + at + 1, x))
        return 0;
    at += HEX + 1;
    if (text[at] == '.')
        return at + 1;
    size_t pad = pad_of(x);
    if (text[at] != '-' || len - at < pad + 2 || !pad_is(text + at + 1, pad) ||
        text[at + 1 + pad] != '.')
        return 0;
    return at + pad + 2;
}

static void token_seen(struct look *out, uint64_t number)
{
    if (number < TOKENS_MAX)
        out->seen[number / 64] |= UINT64_C(1) << number % 64;
}

static void tokens_in(const uint8_t *text, size_t len, struct look *out)
{
    const uint8_t *end = text + len;
    while ((text = memchr(text, 'k', (size_t)(end - text))) != NULL) {
        uint64_t number = 0;
        size_t n = token_at(text, (size_t)(end - text), &number);
        if (n > 0)
            token_seen(out, number);
        text += n > 0 ? n : 1;
    }
}

/* ---- reading ---- */

static void wrong(struct look *out, const char *what, const char *said)
{
    if (out->why[0] == '\0')
        (void)snprintf(out->why, sizeof out->why, "%.60s: %.160s", what, said);
}

/* Before the schema is made there is nothing to be read, and nothing was acknowledged. */
static sqlite3_stmt *asked(sqlite3 *db, const char *what, const char *sql, struct look *out)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK)
        return stmt;
    if (strncmp(sqlite3_errmsg(db), "no such ", 8) != 0) /* table, column */
        wrong(out, what, sqlite3_errmsg(db));
    return NULL;
}

static void ended(sqlite3 *db, const char *what, sqlite3_stmt *stmt, int code, struct look *out)
{
    if (code != SQLITE_DONE)
        wrong(out, what, sqlite3_errmsg(db));
    (void)sqlite3_finalize(stmt);
}

static void read_tokens(sqlite3 *db, const char *what, const char *sql, bool exact,
                        struct look *out)
{
    int code;
    sqlite3_stmt *stmt = sql ? asked(db, what, sql, out) : NULL;
    if (stmt == NULL)
        return;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        uint64_t number = 0;
        const uint8_t *text = sqlite3_column_blob(stmt, 0);
        size_t len = (size_t)sqlite3_column_bytes(stmt, 0);
        if (len == 0)
            continue;
        if (!exact)
            tokens_in(text, len, out);
        else if (token_at(text, len, &number) == len)
            token_seen(out, number);
        else
            wrong(out, what, "a result is not as it came");
    }
    ended(db, what, stmt, code, out);
}

static void read_sums(sqlite3 *db, const char *what, const char *sql, struct look *out)
{
    int code;
    char said[SHOWN];
    sqlite3_stmt *stmt = asked(db, what, sql, out);
    if (stmt == NULL)
        return;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        (void)snprintf(said, sizeof said, "%.40s: %lld and %lld", sqlite3_column_text(stmt, 0),
                       sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2));
        wrong(out, what, said);
    }
    ended(db, what, stmt, code, out);
}

static int64_t read_number(sqlite3 *db, const char *sql, struct look *out)
{
    sqlite3_stmt *stmt = asked(db, sql, sql, out);
    int64_t value = 0;
    if (stmt != NULL && sqlite3_step(stmt) == SQLITE_ROW)
        value = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return value;
}

static void read_whole(sqlite3 *db, const char *what, struct look *out)
{
    sqlite3_stmt *stmt = asked(db, what, "PRAGMA integrity_check(1)", out);
    if (stmt != NULL && sqlite3_step(stmt) == SQLITE_ROW &&
        strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
        wrong(out, what, (const char *)sqlite3_column_text(stmt, 0));
    (void)sqlite3_finalize(stmt);
}

static void read_position(sqlite3 *db, enum store store, struct look *out)
{
    if (store == STORE_TRACKER) {
        out->lane = read_number(db, "SELECT value FROM facts WHERE name = 'lane'", out);
        out->seq = read_number(db,
                               "SELECT max(coalesce((SELECT max(seq) FROM results), 0),"
                               " coalesce((SELECT value FROM facts WHERE name = 'last_seq'), 0))",
                               out);
        out->received =
            read_number(db, "SELECT value FROM books WHERE name = 'arrivals.received'", out);
        out->created = read_number(db, "SELECT value FROM books WHERE name = 'tasks.created'", out);
    } else if (store == STORE_LETTERS) {
        out->seq = read_number(db, "SELECT value FROM facts WHERE name = 'next_number'", out);
        out->seq = out->seq > 0 ? out->seq : 1;
    }
}

/* As the owner's start: a log beside an empty file is refused there. */
static bool openable(const char *name, struct look *out)
{
    char log[NAME_BYTES + 8];
    int file = disk_find(name);
    (void)snprintf(log, sizeof log, "%s-wal", name);
    int wal = disk_find(log);
    bool logged = wal != NOTHING && disk_len(wal) > 0;
    if ((file == NOTHING || disk_len(file) == 0) && logged)
        wrong(out, name, "is empty or gone, and has a log");
    return file != NOTHING;
}

void look_at(enum store store, bool whole, struct look *out)
{
    sqlite3 *db = NULL;
    const char *name = PLACES[store].db;
    memset(out, 0, sizeof *out);
    if (!openable(name, out))
        return;
    out->there = true;
    if (sqlite3_open_v2(name, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, REPLAY_VFS) !=
            SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=OFF; BEGIN", NULL, NULL,
                     NULL) != SQLITE_OK)
        wrong(out, name, sqlite3_errmsg(db));
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (out->why[0] == '\0') {
        read_tokens(db, name, PLACES[store].texts, false, out);
        read_tokens(db, name, PLACES[store].exact, true, out);
        read_sums(db, name, PLACES[store].sums, out);
        read_position(db, store, out);
        if (whole)
            read_whole(db, name, out);
    }
    if (sqlite3_close(db) != SQLITE_OK)
        wrong(out, name, "does not close");
}

/* ---- marks, keys ---- */

static uint64_t word_at(const uint8_t *at)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | at[i];
    return value;
}

/* The newest whole slot: its words, NULL = none is. */
static const uint8_t *mark_slot(int mark, bool *written)
{
    const uint8_t *best = NULL;
    for (size_t i = 0; mark != NOTHING && i < MARK_SLOTS; i++) {
        uint8_t sum[SHA256_DIGEST_LENGTH];
        if (disk_len(mark) < i * MARK_AT + MARK_ROOM)
            continue;
        const uint8_t *slot = disk_data(mark) + i * MARK_AT;
        size_t head = slot[7] == '1' ? 48 : 64; /* the format's number ends its magic word */
        (void)SHA256(slot, head, sum);
        *written = *written || word_at(slot) != 0;
        if (memcmp(sum, slot + head, MARK_SUM) == 0 &&
            (best == NULL || word_at(slot + 8) > word_at(best + 8)))
            best = slot;
    }
    return best;
}

void look_at_mark(enum store store, struct look *out)
{
    bool written = false;
    int mark = PLACES[store].mark ? disk_find(PLACES[store].mark) : NOTHING;
    const uint8_t *slot = mark_slot(mark, &written);
    if (slot == NULL) {
        if (written && out->seq > 1)
            wrong(out, PLACES[store].mark, "none of its slots is whole");
        return;
    }
    uint64_t lane = word_at(slot + 16);
    bool counted = slot[7] != '1';
    if (!out->there || lane > (uint64_t)out->lane ||
        (lane == (uint64_t)out->lane && word_at(slot + 24) > (uint64_t)out->seq) ||
        (counted && (word_at(slot + 48) > (uint64_t)out->received ||
                     word_at(slot + 56) > (uint64_t)out->created)))
        wrong(out, PLACES[store].mark, "is ahead of its store");
}

void look_at_key(struct look *out)
{
    int key = disk_find("callback.key");
    if (key == NOTHING || disk_len(key) != 33)
        wrong(out, "callback.key", "is not there, or not whole");
}

/* The file's own journal is there only while a store is made. */
uint64_t look_print(enum store store)
{
    char name[NAME_BYTES + 16];
    (void)snprintf(name, sizeof name, "%s-journal", PLACES[store].db);
    uint64_t print = disk_print(PLACES[store].db) * 31 + disk_print(name);
    (void)snprintf(name, sizeof name, "%s-wal", PLACES[store].db);
    return print * 31 + wal_print(name);
}
