/* What is said waits until what was written before it is on disk. */
#include "common/net/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/store/folder.h"

enum { PATIENCE_MS = 10000 };

/* A store that settles when the test says so. */
struct store {
    uint64_t written, settled;
    unsigned waits;
    bool broken;
};

static uint64_t store_written(void *arg)
{
    return ((const struct store *)arg)->written;
}

static uint64_t store_settled(void *arg)
{
    return ((const struct store *)arg)->settled;
}

static bool store_settle(void *arg)
{
    struct store *self = arg;
    self->waits++;
    if (!self->broken)
        self->settled = self->written;
    return !self->broken;
}

struct pair {
    struct folder folder;
    struct store store;
    ald_gate_t *gate;
    ald_sock_t *here;  /* a DEALER behind the gate */
    ald_sock_t *there; /* the DEALER that hears it */
};

static int setup(void **state)
{
    static const struct ald_sock_options dealer = {.type = ZMQ_DEALER, .max_frame = 1000};
    struct pair *self = calloc(1, sizeof *self);
    char at[512];
    folder_make(&self->folder);
    (void)snprintf(at, sizeof at, "ipc://%s", folder_file(&self->folder, "gate"));
    const struct ald_gate_options options = {.written = store_written,
                                             .settled = store_settled,
                                             .settle = store_settle,
                                             .store = &self->store};
    self->gate = ald_gate_new(&options);
    assert_int_equal(ald_sock_bind(&dealer, at, &self->there, NULL), ALD_OK);
    assert_int_equal(ald_sock_connect(&dealer, at, &self->here, NULL), ALD_OK);
    zmq_pollitem_t item = {.socket = zsock_resolve(ald_sock_z(self->here)), .events = ZMQ_POLLOUT};
    assert_int_equal(zmq_poll(&item, 1, PATIENCE_MS), 1); /* they have met */
    ald_sock_gate(self->here, self->gate);
    *state = self;
    return 0;
}

static int teardown(void **state)
{
    struct pair *self = *state;
    ald_sock_destroy(&self->here);
    ald_sock_destroy(&self->there);
    ald_gate_destroy(&self->gate);
    folder_remove(&self->folder);
    free(self);
    return 0;
}

static void say(struct pair *self, const char *text)
{
    zmsg_t *msg = zmsg_new();
    (void)zmsg_addstr(msg, text);
    assert_int_equal(ald_sock_send(self->here, &msg), ALD_OK);
    assert_null(msg);
}

/* It may be more than the peer has room for. */
static void say_many(struct pair *self, size_t bytes)
{
    zmsg_t *msg = zmsg_new();
    zframe_t *frame = zframe_new(NULL, bytes);
    memset(zframe_data(frame), 'x', bytes);
    zmsg_append(msg, &frame);
    if (ald_sock_send(self->here, &msg) != ALD_OK)
        zmsg_destroy(&msg);
}

static void hears(struct pair *self, const char *text)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(ald_sock_z(self->there)), .events = ZMQ_POLLIN};
    assert_int_equal(zmq_poll(&item, 1, PATIENCE_MS), 1);
    zmsg_t *msg = ald_sock_recv(self->there);
    char *said = zmsg_popstr(msg);
    assert_string_equal(said, text);
    zstr_free(&said);
    zmsg_destroy(&msg);
}

static void test_example(void **state)
{
    struct pair *self = *state;
    say(self, "nothing is written");
    hears(self, "nothing is written");

    self->store.written = 1;
    say(self, "first");
    self->store.written = 2;
    say(self, "second");
    self->store.settled = 1;
    ald_gate_turn(self->gate);
    hears(self, "first");
    ald_gate_forget(self->gate); /* had "second" been sent, it would be heard before "last" */
    self->store.settled = 2;
    say(self, "last");
    hears(self, "last");
}

/* Nothing overtakes what waits. */
static void test_the_order_is_kept(void **state)
{
    struct pair *self = *state;
    self->store.written = 7;
    say(self, "first");
    self->store.settled = 7;
    say(self, "second");
    assert_null(ald_sock_recv(self->there));
    ald_gate_turn(self->gate);
    hears(self, "first");
    hears(self, "second");
    assert_int_equal(self->store.waits, 0);
}

struct ends {
    unsigned sent, unsent;
};

static void ended(void *arg, bool sent)
{
    struct ends *ends = arg;
    ends->sent += sent;
    ends->unsent += !sent;
}

static void say_then(struct pair *self, struct ends *ends)
{
    zmsg_t *msg = zmsg_new();
    (void)zmsg_addstr(msg, "and then");
    ald_sock_send_then(self->here, &msg, ended, ends);
    assert_null(msg);
}

/* Who undoes what could not be sent hears of each message once, when it is known. */
static void test_then(void **state)
{
    struct pair *self = *state;
    struct ends ends = {0};
    say_then(self, &ends);
    assert_int_equal(ends.sent, 1);
    self->store.written = 1;
    say_then(self, &ends);
    assert_int_equal(ends.sent, 1);
    self->store.settled = 1;
    ald_gate_turn(self->gate);
    assert_int_equal(ends.sent, 2);

    self->store.written = 2;
    say_then(self, &ends);
    ald_gate_forget(self->gate);
    assert_int_equal(ends.sent, 3);
    say_then(self, &ends);
    ald_sock_destroy(&self->here);
    assert_int_equal(ends.sent, 4);
    assert_int_equal(ends.unsent, 0);
}

static void test_then_it_was_not_sent(void **state)
{
    struct pair *self = *state;
    struct ends ends = {0};
    self->store.written = 1;
    say_then(self, &ends);
    ald_sock_destroy(&self->there);
    zmq_pollitem_t item = {.socket = zsock_resolve(ald_sock_z(self->here)), .events = ZMQ_POLLOUT};
    while (zmq_poll(&item, 1, 0) == 1)
        (void)zmq_poll(NULL, 0, 1); /* until it has noticed */
    self->store.settled = 1;
    ald_gate_turn(self->gate);
    assert_int_equal(ends.unsent, 1);
    assert_int_equal(ends.sent, 0);
}

/* What is for a socket that is gone is gone with it. */
static void test_a_socket_leaves(void **state)
{
    struct pair *self = *state;
    self->store.written = 1;
    say(self, "to nobody");
    ald_sock_destroy(&self->here);
    self->store.settled = 1;
    ald_gate_turn(self->gate);
    assert_null(ald_sock_recv(self->there));
}

static void test_it_waits_for_the_disk_when_it_is_full(void **state)
{
    struct pair *self = *state;
    self->store.written = 1;
    say(self, "first");
    for (unsigned i = 1; i < ALD_GATE_MESSAGES; i++)
        say_many(self, 1);
    assert_int_equal(self->store.waits, 0);
    say_many(self, 1);
    assert_int_equal(self->store.waits, 1);
    hears(self, "first");
}

static void test_bytes_are_counted(void **state)
{
    struct pair *self = *state;
    self->store.written = 1;
    for (size_t bytes = 0; bytes <= ALD_GATE_BYTES; bytes += 1 << 20) {
        assert_int_equal(self->store.waits, 0);
        say_many(self, 1 << 20);
    }
    assert_int_equal(self->store.waits, 1);
}

/* A store that has failed: what it wrote must never be said. */
static void test_a_broken_store_says_nothing(void **state)
{
    struct pair *self = *state;
    self->store.broken = true;
    self->store.written = 1;
    for (unsigned i = 0; i < ALD_GATE_MESSAGES + 5; i++)
        say(self, "never");
    assert_int_equal(self->store.waits, 5);
    ald_gate_forget(self->gate);
    self->store = (struct store){0};
    say(self, "of the store that was opened anew");
    hears(self, "of the store that was opened anew");
}

/* Between its failure and its end a store is spoken of, too; the next one begins to count anew. */
static void test_what_is_said_of_a_broken_store(void **state)
{
    struct pair *self = *state;
    self->store = (struct store){.written = 57, .settled = 56, .broken = true};
    ald_gate_forget(self->gate);
    say(self, "it has failed");
    self->store = (struct store){.settled = UINT64_MAX}; /* closed */
    ald_gate_turn(self->gate);
    hears(self, "it has failed");
    say(self, "it is away");
    hears(self, "it is away");
    self->store = (struct store){.written = 1, .settled = 1}; /* opened */
    say(self, "it is back");
    hears(self, "it is back");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_example),
        T(test_the_order_is_kept),
        T(test_then),
        T(test_then_it_was_not_sent),
        T(test_a_socket_leaves),
        T(test_it_waits_for_the_disk_when_it_is_full),
        T(test_bytes_are_counted),
        T(test_a_broken_store_says_nothing),
        T(test_what_is_said_of_a_broken_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
