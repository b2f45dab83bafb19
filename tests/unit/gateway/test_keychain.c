/* Providers' public keys at the gateway: taken, kept over a start without the tracker, and missed.
 */
#include "services/gateway/keychain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/net/sock.h"
#include "tests/unit/store/folder.h"

#define URL "https://h.example/j"

static struct folder folder;
static const uint8_t KEYS[64] = {1, 2, 3};

static int setup(void **state)
{
    (void)state;
    folder_make(&folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

static keychain_t *open_one(void)
{
    return keychain_new(folder_file(&folder, "provider.jwks"));
}

/* A welcome with the keys of one provider behind it; provider NULL: of none. */
static void tell(keychain_t *self, uint64_t number, const char *provider, size_t bytes,
                 int64_t age_ms)
{
    zmsg_t *msg = zmsg_new();
    (void)zmsg_addstr(msg, "welcome");
    struct msg_jwks one = {.url = URL,
                           .fetched_at_ms = ald_clock_now().wall_ms - age_ms,
                           .keys = ald_span_of(KEYS, bytes)};
    if (provider) {
        (void)snprintf(one.provider, sizeof one.provider, "%s", provider);
        assert_int_equal(ald_frame_add(msg, &MSG_JWKS, &one), ALD_OK);
    }
    (void)zmsg_first(msg);
    keychain_told(self, number, msg);
    zmsg_destroy(&msg);
}

static struct keychain_found look(keychain_t *self, const char *provider, int64_t later_ms)
{
    struct keychain_found found;
    keychain_look(self, provider, URL, ald_clock_now().mono_ms + later_ms, &found);
    return found;
}

static const char *lacks(keychain_t *self)
{
    static struct msg_batch head;
    head = (struct msg_batch){0};
    keychain_head(self, &head);
    return head.lacks;
}

static void test_example(void **state)
{
    (void)state;
    keychain_t *self = open_one();
    struct msg_batch head = {0};
    keychain_head(self, &head);
    assert_int_equal(head.jwks, 1);
    assert_int_equal(look(self, "fal", 0).keys.count, 0);
    tell(self, 77, "fal", 64, 0);
    keychain_head(self, &head);
    assert_int_equal(head.jwks, 77);
    assert_int_equal(look(self, "fal", 0).keys.count, 2);
    assert_memory_equal(look(self, "fal", 0).keys.at, KEYS, 64);
    assert_int_equal(look(self, "fal", 0).hope, KEYCHAIN_FRESH);
    assert_int_equal(look(self, "other", 0).keys.count, 0);
    keychain_destroy(&self);
}

/* What was told is there at the next start; a file that is not sound is none. */
static void test_kept(void **state)
{
    (void)state;
    keychain_t *self = open_one();
    tell(self, 77, "fal", 32, 0);
    tell(self, 78, "own", 64, 0);
    keychain_destroy(&self);
    self = open_one();
    struct msg_batch head = {0};
    keychain_head(self, &head);
    assert_int_equal(head.jwks, 78);
    assert_int_equal(look(self, "fal", 0).keys.count, 1);
    assert_int_equal(look(self, "own", 0).keys.count, 2);
    assert_int_equal(look(self, "own", 0).hope, KEYCHAIN_AWAITED); /* nobody knows since when */
    keychain_destroy(&self);

    char path[512];
    (void)snprintf(path, sizeof path, "%s", folder_file(&folder, "provider.jwks"));
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    assert_int_equal(fputc(0x55, file), 0x55);
    assert_int_equal(fclose(file), 0);
    self = open_one();
    keychain_head(self, &head);
    assert_int_equal(head.jwks, 1);
    assert_int_equal(look(self, "fal", 0).keys.count, 0);
    keychain_destroy(&self);
}

/* The last good ones stay, whatever is told. */
static void test_what_is_none(void **state)
{
    (void)state;
    keychain_t *self = open_one();
    tell(self, 77, "fal", 32, 0);
    tell(self, 1, NULL, 0, 0); /* a tracker that has lost its own */
    assert_int_equal(look(self, "fal", 0).keys.count, 1);
    tell(self, 79, "fal", 33, 0);
    assert_int_equal(look(self, "fal", 0).keys.count, 1);
    tell(self, 0, "fal", 64, 0); /* one that knows nothing of keys */
    assert_int_equal(look(self, "fal", 0).keys.count, 1);
    keychain_destroy(&self);
}

static void test_missed(void **state)
{
    (void)state;
    int64_t now_ms = ald_clock_now().mono_ms;
    keychain_t *self = open_one();
    assert_string_equal(lacks(self), "");
    keychain_miss(self, "a", URL, now_ms);
    keychain_miss(self, "b", URL, now_ms);
    keychain_miss(self, "a", URL, now_ms + 1000);
    assert_string_equal(lacks(self), "a");
    assert_string_equal(lacks(self), "b");
    assert_string_equal(lacks(self), "a"); /* until they have come */
    assert_int_equal(look(self, "a", 0).hope, KEYCHAIN_AWAITED);
    assert_int_equal(look(self, "a", KEYCHAIN_OVERDUE_MS).hope, KEYCHAIN_OVERDUE);
    assert_int_equal(look(self, "c", KEYCHAIN_OVERDUE_MS).hope, KEYCHAIN_AWAITED);
    tell(self, 77, "a", 32, 0);
    assert_string_equal(lacks(self), "b");
    assert_string_equal(lacks(self), "b");
    assert_int_equal(look(self, "a", KEYCHAIN_FRESH_MS / 2).hope, KEYCHAIN_FRESH);
    assert_int_equal(look(self, "a", KEYCHAIN_FRESH_MS).hope, KEYCHAIN_AWAITED);
    keychain_destroy(&self);
}

/* What was fetched long ago says nothing about now, when it is told. */
static void test_told_late(void **state)
{
    (void)state;
    keychain_t *self = open_one();
    tell(self, 77, "a", 32, KEYCHAIN_FRESH_MS);
    assert_int_equal(look(self, "a", 0).hope, KEYCHAIN_AWAITED);
    tell(self, 78, "a", 32, KEYCHAIN_FRESH_MS / 2);
    assert_int_equal(look(self, "a", 0).hope, KEYCHAIN_FRESH);
    assert_int_equal(look(self, "a", KEYCHAIN_FRESH_MS / 2 + 10).hope, KEYCHAIN_AWAITED);
    keychain_destroy(&self);
}

/* Keys are of their address. */
static void test_another_address(void **state)
{
    (void)state;
    struct keychain_found found;
    keychain_t *self = open_one();
    tell(self, 77, "a", 32, 0);
    keychain_look(self, "a", "https://h.example/other", ald_clock_now().mono_ms, &found);
    assert_int_equal(found.keys.count, 0);
    assert_int_equal(found.hope, KEYCHAIN_AWAITED);
    keychain_destroy(&self);
}

int main(void)
{
#define KEPT(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {KEPT(test_example),      KEPT(test_kept),
                                       KEPT(test_what_is_none), KEPT(test_missed),
                                       KEPT(test_told_late),    KEPT(test_another_address)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
