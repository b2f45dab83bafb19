#include "tests/fuzz/damage.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/codec.h"

enum { DAMAGE_COLUMNS_MAX = 400, DAMAGE_STEPS = 8, DAMAGE_SQL_MAX = 1 << 16, DAMAGE_NAME = 40 };

static struct damage {
    char folder[64];
    uint8_t *file;
    size_t len;
    size_t count;
    struct {
        char table[DAMAGE_NAME];
        char column[DAMAGE_NAME];
    } columns[DAMAGE_COLUMNS_MAX];
} damage;

static void damage_end(void)
{
    DIR *folder = opendir(damage.folder);
    if (!folder)
        return;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        (void)unlinkat(dirfd(folder), entry->d_name, 0);
    (void)closedir(folder);
    (void)rmdir(damage.folder);
    free(damage.file);
}

const char *damage_folder(void)
{
    if (damage.folder[0] != '\0')
        return damage.folder;
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(damage.folder, sizeof damage.folder, "%s/aldaba-fuzz-XXXXXX", base);
    ALD_ASSERT(mkdtemp(damage.folder));
    (void)atexit(damage_end);
    return damage.folder;
}

const char *damage_path(const char *name)
{
    static char paths[4][DAMAGE_PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % ALD_COUNT(paths)];
    (void)snprintf(path, DAMAGE_PATH_MAX, "%s/%s", damage_folder(), name);
    return path;
}

void damage_remember(const char *path)
{
    FILE *file = fopen(path, "rb");
    ALD_ASSERT(file && fseek(file, 0, SEEK_END) == 0);
    damage.len = (size_t)ftell(file);
    damage.file = malloc(damage.len);
    ALD_ASSERT(damage.file && fseek(file, 0, SEEK_SET) == 0);
    ALD_ASSERT(fread(damage.file, 1, damage.len, file) == damage.len);
    (void)fclose(file);
}

void damage_restore(const char *path)
{
    DIR *folder = opendir(damage_folder());
    ALD_ASSERT(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    (void)closedir(folder);
    FILE *file = fopen(path, "wb");
    ALD_ASSERT(file && fwrite(damage.file, 1, damage.len, file) == damage.len);
    ALD_ASSERT(fclose(file) == 0);
}

static void damage_name(char out[DAMAGE_NAME], struct ald_span name)
{
    ALD_ASSERT(name.len < DAMAGE_NAME);
    memcpy(out, name.data, name.len);
    out[name.len] = '\0';
}

void damage_learn(ald_store_t *store)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = ald_store_prepare(
        store,
        "SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p"
        " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY m.name, p.cid",
        &stmt);
    ALD_ASSERT(rc == ALD_OK);
    damage.count = 0;
    while (ald_stmt_step(stmt) == ALD_OK) {
        ALD_ASSERT(damage.count < DAMAGE_COLUMNS_MAX);
        damage_name(damage.columns[damage.count].table, ald_stmt_text(stmt, 0));
        damage_name(damage.columns[damage.count++].column, ald_stmt_text(stmt, 1));
    }
    ald_stmt_reset(stmt);
    ALD_ASSERT(damage.count > 0);
}

/* A value of any of the engine's types. */
static void damage_value(struct ald_buf *sql, struct input *in)
{
    static const int64_t edges[] = {
        0,         1,       -1,        INT64_MAX, INT64_MIN, INT64_C(1) << 53, INT64_C(1) << 62,
        INT32_MAX, 1 << 16, UINT32_MAX};
    switch (input_byte(in) % 6) {
    case 0:
        ald_buf_printf(sql, "%lld", (long long)edges[input_byte(in) % ALD_COUNT(edges)]);
        break;
    case 1:
        ald_buf_printf(sql, "%lld", (long long)input_u64(in));
        break;
    case 2:
        ald_buf_put_str(sql, "CAST(x'");
        ald_hex_encode(sql, input_part(in, '\n'));
        ald_buf_put_str(sql, "' AS TEXT)");
        break;
    case 3:
        ald_buf_put_str(sql, "x'");
        ald_hex_encode(sql, input_part(in, '\n'));
        ald_buf_put_str(sql, "'");
        break;
    case 4:
        ald_buf_printf(sql, "zeroblob(%u)", input_byte(in) * 97U);
        break;
    default:
        ald_buf_put_str(sql, "1e300");
        break;
    }
}

/* The row may have no number of its own: then all rows of the table are meant. */
static bool damage_step(ald_store_t *store, struct input *in)
{
    struct ald_buf sql;
    size_t which = (input_byte(in) | (size_t)input_byte(in) << 8) % damage.count;
    uint8_t row = input_byte(in);
    ald_buf_init(&sql, DAMAGE_SQL_MAX);
    if (row == 0xff) {
        ald_buf_printf(&sql, "DELETE FROM \"%s\"", damage.columns[which].table);
    } else {
        ald_buf_printf(&sql, "UPDATE OR IGNORE \"%s\" SET \"%s\" = ", damage.columns[which].table,
                       damage.columns[which].column);
        damage_value(&sql, in);
        if (row != 0xfe)
            ald_buf_printf(&sql, " WHERE rowid IN (SELECT rowid FROM \"%s\" LIMIT 1 OFFSET %u)",
                           damage.columns[which].table, row % 8U);
    }
    bool done = ald_buf_ok(&sql) && ald_store_exec(store, ald_buf_str(&sql)) == ALD_OK;
    ald_buf_free(&sql);
    return done;
}

bool damage_do(ald_store_t *store, struct input *in)
{
    bool any = false;
    for (unsigned i = 0; i < DAMAGE_STEPS && in->left.len > 0; i++)
        any = damage_step(store, in) || any;
    return any;
}

void damage_look(enum ald_rc (*look)(const char *, struct ald_report *, struct ald_err *))
{
    static FILE *nowhere;
    struct ald_err err = {0};
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    struct ald_report report = {.to = nowhere};
    (void)!look(damage_folder(), &report, &err);
}
