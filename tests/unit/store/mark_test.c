#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/store/mark.h"
#include "tests/unit/store/folder.h"

enum { SLOT_AT = 4096, SLOT_BYTES = 96 };

static struct ald_mark_values values_of(uint64_t seq)
{
    return (struct ald_mark_values){.lane = 3,
                                    .seq = seq,
                                    .last_n = seq + 1000,
                                    .wall_ms = (int64_t)seq * 10,
                                    .received = seq * 2,
                                    .created = seq * 3};
}

static ald_mark_t *mark_open(const struct folder *folder)
{
    ald_mark_t *mark = NULL;
    assert_int_equal(ald_mark_open(folder_file(folder, "mark"), &mark, NULL), ALD_OK);
    return mark;
}

static void mark_put(ald_mark_t *mark, uint64_t seq, bool sync)
{
    struct ald_mark_values values = values_of(seq);
    assert_int_equal(ald_mark_write(mark, &values), ALD_OK);
    if (sync)
        assert_int_equal(ald_mark_sync(mark), ALD_OK);
}

/* What a new process reads: the sequence number, 0 when there is none, -1 when it is damaged. */
static int64_t mark_seq(const struct folder *folder, bool *torn)
{
    struct ald_mark_values values = {0};
    ald_mark_t *mark = mark_open(folder);
    enum ald_rc rc = ald_mark_read(mark, &values);
    *torn = ald_mark_torn(mark);
    ald_mark_destroy(&mark);
    return rc == ALD_CORRUPT ? -1 : (int64_t)values.seq;
}

static void test_example(void **state)
{
    struct ald_mark_values got = {0};
    struct ald_mark_values want = values_of(7);
    ald_mark_t *mark = mark_open(*state);
    assert_int_equal(ald_mark_read(mark, &got), ALD_NOTFOUND);
    assert_int_equal(ald_mark_write(mark, &want), ALD_OK);
    assert_int_equal(ald_mark_sync(mark), ALD_OK);
    ald_mark_destroy(&mark);
    assert_null(mark);

    mark = mark_open(*state);
    assert_int_equal(ald_mark_read(mark, &got), ALD_OK);
    assert_memory_equal(&got, &want, sizeof got);
    assert_false(ald_mark_torn(mark));
    ald_mark_destroy(&mark);
}

static void test_newest_counts_over_many_writes(void **state)
{
    bool torn = false;
    for (uint64_t seq = 1; seq <= 9; seq++) {
        ald_mark_t *mark = mark_open(*state);
        mark_put(mark, seq * 2 - 1, seq % 2 == 0);
        mark_put(mark, seq * 2, true);
        ald_mark_destroy(&mark);
        assert_int_equal(mark_seq(*state, &torn), seq * 2);
        assert_false(torn);
    }
}

/* Each byte of each slot, damaged: the other slot counts, and it is at most one sync old. Whoever
 * looks finds it; whoever opens it writes it anew. */
static void test_every_flipped_bit_is_seen(void **state)
{
    const char *path = folder_file(*state, "mark");
    for (long slot = 0; slot < 2; slot++) {
        for (long at = 0; at < SLOT_BYTES; at++) {
            struct ald_mark_values values;
            bool torn = false;
            (void)unlink(path);
            ald_mark_t *mark = mark_open(*state);
            mark_put(mark, 1, true); /* slot 0 */
            mark_put(mark, 2, true); /* slot 1 */
            ald_mark_destroy(&mark);
            file_flip(path, slot * SLOT_AT + at);
            assert_int_equal(ald_mark_look(path, &values, &torn), ALD_OK);
            assert_true(torn);
            assert_int_equal(mark_seq(*state, &torn), slot == 0 ? 2 : 1);
            assert_true(torn);
            assert_int_equal(mark_seq(*state, &torn), slot == 0 ? 2 : 1);
            assert_false(torn);
        }
    }
}

/* What is looked at is neither made nor mended. */
static void test_looking_touches_nothing(void **state)
{
    const char *path = folder_file(*state, "mark");
    struct ald_mark_values values = {0};
    bool torn = true;
    assert_int_equal(ald_mark_look(path, &values, &torn), ALD_NOTFOUND);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_false(torn);
    ald_mark_t *mark = mark_open(*state);
    mark_put(mark, 1, true);
    mark_put(mark, 2, true);
    ald_mark_destroy(&mark);
    file_flip(path, 20);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ald_mark_look(path, &values, &torn), ALD_OK);
        assert_true(torn);
        assert_int_equal(values.seq, 2);
    }
    file_flip(path, SLOT_AT + 20);
    assert_int_equal(ald_mark_look(path, &values, &torn), ALD_CORRUPT);
}

/* A slot of the format that counted neither callbacks nor tasks. */
static void test_the_first_format(void **state)
{
    static const uint64_t words[] = {UINT64_C(0x616c644d41524b31), 7, 3, 50, 1050, 500};
    uint8_t slot[sizeof words + 32];
    struct ald_mark_values values = {.received = 1, .created = 1};
    for (size_t i = 0; i < sizeof words; i++)
        slot[i] = (uint8_t)(words[i / 8] >> (56 - i % 8 * 8) & 0xff);
    ald_sha256(ald_span_of(slot, sizeof words), slot + sizeof words);
    ald_mark_t *mark = mark_open(*state);
    ald_mark_destroy(&mark);
    FILE *file = fopen(folder_file(*state, "mark"), "r+b");
    assert_non_null(file);
    assert_int_equal(fwrite(slot, sizeof slot, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    mark = mark_open(*state);
    assert_int_equal(ald_mark_read(mark, &values), ALD_OK);
    assert_int_equal(values.seq, 50);
    assert_int_equal(values.received, 0);
    assert_int_equal(values.created, 0);
    mark_put(mark, 51, true);
    ald_mark_destroy(&mark);
    bool torn = true;
    assert_int_equal(mark_seq(*state, &torn), 51);
    assert_false(torn);
}

static void test_both_slots_damaged_is_corrupt_and_heals(void **state)
{
    const char *path = folder_file(*state, "mark");
    bool torn = false;
    ald_mark_t *mark = mark_open(*state);
    mark_put(mark, 1, true);
    mark_put(mark, 2, true);
    ald_mark_destroy(&mark);
    file_flip(path, 20);
    file_flip(path, SLOT_AT + 20);
    assert_int_equal(mark_seq(*state, &torn), -1);
    assert_true(torn);
    mark = mark_open(*state);
    mark_put(mark, 3, true);
    mark_put(mark, 4, true);
    ald_mark_destroy(&mark);
    assert_int_equal(mark_seq(*state, &torn), 4);
    assert_false(torn);
}

/* Writes without a sync may all be torn: none of them may touch the slot that is on disk. */
static void test_unsynced_writes_leave_the_synced_slot_alone(void **state)
{
    const char *path = folder_file(*state, "mark");
    bool torn = false;
    ald_mark_t *mark = mark_open(*state);
    mark_put(mark, 1, true); /* slot 0, on disk */
    for (uint64_t seq = 2; seq <= 9; seq++)
        mark_put(mark, seq, false); /* slot 1, again and again */
    ald_mark_destroy(&mark);
    file_flip(path, SLOT_AT + 50);
    assert_int_equal(mark_seq(*state, &torn), 1);
    assert_true(torn);
}

static void test_short_file_keeps_the_first_slot(void **state)
{
    bool torn = false;
    ald_mark_t *mark = mark_open(*state);
    mark_put(mark, 1, true);
    mark_put(mark, 2, true);
    ald_mark_destroy(&mark);
    file_cut(folder_file(*state, "mark"), SLOT_AT + 40);
    assert_int_equal(mark_seq(*state, &torn), 1);
    assert_true(torn);
}

static void test_file_is_private_and_needs_its_folder(void **state)
{
    struct stat st;
    struct ald_err err = {0};
    ald_mark_t *mark = mark_open(*state);
    ald_mark_destroy(&mark);
    assert_int_equal(stat(folder_file(*state, "mark"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(ald_mark_open(folder_file(*state, "nowhere/mark"), &mark, &err), ALD_IO);
    assert_null(mark);
    assert_non_null(strstr(err.text, "nowhere/mark"));
}

static void test_only_a_file_is_opened(void **state)
{
    const char *path = folder_file(*state, "m");
    struct ald_err err = {0};
    ald_mark_t *mark = NULL;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(ald_mark_open(path, &mark, &err), ALD_IO);
    assert_null(mark);
    assert_non_null(strstr(err.text, "named pipe"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        T(test_example),
        T(test_newest_counts_over_many_writes),
        T(test_every_flipped_bit_is_seen),
        T(test_looking_touches_nothing),
        T(test_the_first_format),
        T(test_only_a_file_is_opened),
        T(test_both_slots_damaged_is_corrupt_and_heals),
        T(test_unsynced_writes_leave_the_synced_slot_alone),
        T(test_short_file_keeps_the_first_slot),
        T(test_file_is_private_and_needs_its_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
