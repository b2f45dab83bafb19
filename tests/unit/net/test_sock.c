/* Sockets have their limits, and nobody steals an endpoint. */
#include "common/net/sock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "proto/messages.h"
#include "tests/unit/store/folder.h"

enum { PATIENCE_MS = 10000 };

static const struct ald_sock_options ROUTER = {.type = ZMQ_ROUTER, .max_frame = 1000};
static const struct ald_sock_options DEALER = {.type = ZMQ_DEALER, .max_frame = 1000};

static int setup(void **state)
{
    struct folder *folder = calloc(1, sizeof *folder);
    folder_make(folder);
    *state = folder;
    return 0;
}

static int teardown(void **state)
{
    struct folder *folder = *state;
    folder_remove(folder);
    free(folder);
    return 0;
}

static const char *endpoint(const struct folder *folder, const char *name)
{
    static char text[512];
    (void)snprintf(text, sizeof text, "ipc://%s", folder_file(folder, name));
    return text;
}

static ald_sock_t *opened(const struct ald_sock_options *options, const char *at, bool bind)
{
    ald_sock_t *sock = NULL;
    struct ald_err err = {0};
    enum ald_rc rc =
        bind ? ald_sock_bind(options, at, &sock, &err) : ald_sock_connect(options, at, &sock, &err);
    if (rc != ALD_OK)
        print_error("%s\n", err.text);
    assert_int_equal(rc, ALD_OK);
    return sock;
}

static zmsg_t *message(size_t len)
{
    zmsg_t *msg = zmsg_new();
    zframe_t *frame = zframe_new(NULL, len);
    memset(zframe_data(frame), 'x', len);
    zmsg_append(msg, &frame);
    return msg;
}

static void send_soon(ald_sock_t *sock, zmsg_t *msg)
{
    int64_t until_ms = ald_clock_now().mono_ms + PATIENCE_MS;
    while (ald_sock_send(sock, &msg) != ALD_OK) {
        assert_true(ald_clock_now().mono_ms < until_ms);
        zmq_pollitem_t item = {.socket = zsock_resolve(ald_sock_z(sock)), .events = ZMQ_POLLOUT};
        (void)zmq_poll(&item, 1, 10);
    }
    assert_null(msg);
}

static zmsg_t *recv_soon(ald_sock_t *sock)
{
    int64_t until_ms = ald_clock_now().mono_ms + PATIENCE_MS;
    zmsg_t *msg = ald_sock_recv(sock);
    while (!msg) {
        assert_true(ald_clock_now().mono_ms < until_ms);
        zmq_pollitem_t item = {.socket = zsock_resolve(ald_sock_z(sock)), .events = ZMQ_POLLIN};
        (void)zmq_poll(&item, 1, 10);
        msg = ald_sock_recv(sock);
    }
    return msg;
}

static void test_example(void **state)
{
    const char *at = endpoint(*state, "a");
    ald_sock_t *router = opened(&ROUTER, at, true);
    ald_sock_t *dealer = opened(&DEALER, at, false);
    send_soon(dealer, message(10));
    zmsg_t *msg = recv_soon(router);
    assert_int_equal(zmsg_size(msg), 2);
    send_soon(router, msg);
    msg = recv_soon(dealer);
    assert_int_equal(zframe_size(zmsg_first(msg)), 10);
    zmsg_destroy(&msg);
    ald_sock_destroy(&dealer);
    ald_sock_destroy(&router);
    assert_null(router);
    ald_sock_destroy(&router);
}

/* A socket on a loop that ends when so many messages were taken, one at each call. */
struct watched {
    ald_sock_t *sock;
    size_t left;
};

static int watched_take(zloop_t *loop, zsock_t *z, void *arg)
{
    (void)loop, (void)z;
    struct watched *self = arg;
    zmsg_t *msg = ald_sock_recv(self->sock);
    self->left -= msg != NULL;
    zmsg_destroy(&msg);
    return self->left == 0 ? -1 : 0;
}

static int watched_late(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer, (void)arg;
    return -1;
}

static void watched_run(struct watched *self, zloop_t *loop)
{
    (void)zloop_timer(loop, PATIENCE_MS, 1, watched_late, NULL);
    (void)zloop_start(loop);
    assert_int_equal(self->left, 0);
}

static void test_watched_is_called_again_for_what_is_left(void **state)
{
    const char *at = endpoint(*state, "a");
    zloop_t *loop = zloop_new();
    struct watched router = {.sock = opened(&ROUTER, at, true), .left = 5};
    ald_sock_t *dealer = opened(&DEALER, at, false);
    ald_sock_watch(router.sock, loop, watched_take, &router);
    for (size_t i = 0; i < 5; i++)
        send_soon(dealer, message(10));
    watched_run(&router, loop);
    ald_sock_destroy(&router.sock);
    ald_sock_destroy(&dealer);
    zloop_destroy(&loop);
}

/* To send takes in what has come meanwhile, and the descriptor tells of it no more. */
static void test_watched_sees_what_came_with_a_send(void **state)
{
    const char *at = endpoint(*state, "a");
    zloop_t *loop = zloop_new();
    ald_sock_t *router = opened(&ROUTER, at, true);
    struct watched dealer = {.sock = opened(&DEALER, at, false), .left = 1};
    send_soon(dealer.sock, message(10));
    ald_sock_watch(dealer.sock, loop, watched_take, &dealer);
    send_soon(router, recv_soon(router));
    int64_t until_ms = ald_clock_now().mono_ms + PATIENCE_MS;
    while ((zsock_events(ald_sock_z(dealer.sock)) & ZMQ_POLLIN) == 0)
        assert_true(ald_clock_now().mono_ms < until_ms);
    send_soon(dealer.sock, message(10));
    watched_run(&dealer, loop);
    ald_sock_destroy(&dealer.sock);
    ald_sock_destroy(&router);
    zloop_destroy(&loop);
}

/* Sends its message as soon as somebody takes it. */
struct sender {
    ald_sock_t *sock;
    zmsg_t *msg;
};

static int sender_turn(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    struct sender *self = arg;
    if (self->msg)
        (void)!ald_sock_send(self->sock, &self->msg);
    return 0;
}

/* A cleaner removes the files beneath a socket: who was connected stays so, who comes finds it. */
static void test_a_seat_that_is_pulled_away(void **state)
{
    const struct folder *folder = *state;
    static const char *const removed[] = {"a", "a.lock"};
    for (size_t i = 0; i < ALD_COUNT(removed); i++) {
        const char *at = endpoint(folder, "a");
        zloop_t *loop = zloop_new();
        struct watched router = {.sock = opened(&ROUTER, at, true), .left = 2};
        ald_sock_t *old = opened(&DEALER, at, false);
        send_soon(old, message(10));
        zmsg_t *msg = recv_soon(router.sock);
        zmsg_destroy(&msg);
        assert_int_equal(unlink(folder_file(folder, removed[i])), 0);
        ald_sock_watch(router.sock, loop, watched_take, &router);
        send_soon(old, message(10));
        struct sender sender = {opened(&DEALER, at, false), message(10)};
        (void)zloop_timer(loop, 20, 0, sender_turn, &sender);
        watched_run(&router, loop);
        /* and it is this process's alone, for as long as it lives */
        int64_t until_ms = ald_clock_now().mono_ms + PATIENCE_MS;
        while (access(folder_file(folder, "a.lock"), F_OK) != 0) {
            assert_true(ald_clock_now().mono_ms < until_ms);
            (void)zloop_timer(loop, 100, 1, watched_late, NULL);
            (void)zloop_start(loop);
        }
        ald_sock_t *second = NULL;
        struct ald_err err = {0};
        assert_int_equal(ald_sock_bind(&ROUTER, at, &second, &err), ALD_EXISTS);
        ald_sock_destroy(&sender.sock);
        ald_sock_destroy(&old);
        ald_sock_destroy(&router.sock);
        zloop_destroy(&loop);
    }
}

static void test_an_endpoint_has_one_owner(void **state)
{
    const char *at = endpoint(*state, "a");
    ald_sock_t *first = opened(&ROUTER, at, true);
    ald_sock_t *second = NULL;
    struct ald_err err = {0};
    assert_int_equal(ald_sock_bind(&ROUTER, at, &second, &err), ALD_EXISTS);
    assert_null(second);
    assert_non_null(strstr(err.text, at));
    ald_sock_t *dealer = opened(&DEALER, at, false);
    send_soon(dealer, message(1)); /* and the owner was not disturbed */
    zmsg_t *msg = recv_soon(first);
    zmsg_destroy(&msg);
    ald_sock_destroy(&dealer);
    ald_sock_destroy(&first);
    first = opened(&ROUTER, at, true); /* free again */
    ald_sock_destroy(&first);
}

/* ZeroMQ would say "address in use" to each, or wait for the other end of a pipe. */
static void test_where_no_socket_can_be_made(void **state)
{
    const struct folder *folder = *state;
    static const struct {
        const char *name;
        const char *want;
    } cases[] = {{"a", "no socket"}, {"b", "named pipe"}, {"none/c", "none: No such file"}};
    assert_int_equal(mkdir(folder_file(folder, "a"), 0700), 0);
    assert_int_equal(mkfifo(folder_file(folder, "b.lock"), 0600), 0);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        ald_sock_t *sock = NULL;
        struct ald_err err = {0};
        assert_int_equal(ald_sock_bind(&ROUTER, endpoint(folder, cases[i].name), &sock, &err),
                         ALD_IO);
        if (strstr(err.text, cases[i].want) == NULL)
            fail_msg("%s: %s", cases[i].name, err.text);
    }
}

static void test_a_folder_of_somebody_else(void **state)
{
    const struct folder *folder = *state;
    ald_sock_t *sock = NULL;
    struct ald_err err = {0};
    bool root = geteuid() == 0; /* who may everything becomes somebody else for a moment */
    assert_int_equal(chmod(folder->path, root ? 0755 : 0500), 0);
    assert_int_equal(root ? seteuid(65534) : 0, 0);
    enum ald_rc rc = ald_sock_bind(&ROUTER, endpoint(folder, "a"), &sock, &err);
    assert_int_equal(root ? seteuid(0) : 0, 0);
    assert_int_equal(chmod(folder->path, 0700), 0);
    assert_int_equal(rc, ALD_IO);
    assert_non_null(strstr(err.text, folder->path));
    assert_non_null(strstr(err.text, "Permission denied"));
    assert_non_null(strstr(err.text, "bus.run"));
}

static void test_only_this_machine_is_reached(void **state)
{
    (void)state;
    static const struct {
        const char *endpoint;
        bool allowed;
    } cases[] = {
        {"tcp://127.0.0.1:*", true},
        {"tcp://127.255.0.1:*", true},
        {"tcp://localhost:*", false},
        {"tcp://0.0.0.0:*", false},
        {"tcp://*:*", false},
        {"tcp://192.0.2.1:1", false},
        {"tcp://127.evil.example:1", false},
        {"tcp://127.0.0.1.evil.example:1", false},
        {"tcp://localhost.evil.example:1", false},
        {"tcp://127.0.0.1", false},
        {"tcp://", false},
        {"ipc://relative", false},
        {"ipc://@abstract", false},
        {"inproc://x", false},
        {"pgm://127.0.0.1:1", false},
        {"", false},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        ald_sock_t *sock = NULL;
        struct ald_err err = {0};
        enum ald_rc rc = ald_sock_bind(&ROUTER, cases[i].endpoint, &sock, &err);
        if (rc != (cases[i].allowed ? ALD_OK : ALD_INVALID))
            print_error("%s: %s\n", cases[i].endpoint, ald_rc_name(rc));
        assert_int_equal(rc, cases[i].allowed ? ALD_OK : ALD_INVALID);
        assert_int_equal(sock != NULL, cases[i].allowed);
        ald_sock_destroy(&sock);
        if (!cases[i].allowed)
            assert_int_equal(ald_sock_connect(&DEALER, cases[i].endpoint, &sock, &err),
                             ALD_INVALID);
    }
}

/* Who sends a longer frame is cut off; others are heard as before. */
static void test_a_frame_has_a_limit(void **state)
{
    const char *at = endpoint(*state, "a");
    ald_sock_t *router = opened(&ROUTER, at, true);
    ald_sock_t *loud = opened(&DEALER, at, false);
    ald_sock_t *quiet = opened(&DEALER, at, false);
    send_soon(quiet, message(1000));
    zmsg_t *msg = recv_soon(router);
    assert_int_equal(zframe_size(zmsg_last(msg)), 1000);
    zmsg_destroy(&msg);
    send_soon(loud, message(1001));
    send_soon(quiet, message(7));
    msg = recv_soon(router);
    assert_int_equal(zframe_size(zmsg_last(msg)), 7);
    zmsg_destroy(&msg);
    ald_sock_destroy(&loud);
    ald_sock_destroy(&quiet);
    ald_sock_destroy(&router);
}

static void test_sending_never_waits(void **state)
{
    const char *at = endpoint(*state, "nobody");
    ald_sock_t *dealer = opened(&DEALER, at, false);
    zmsg_t *msg = message(1);
    assert_int_equal(ald_sock_send(dealer, &msg), ALD_AGAIN);
    assert_non_null(msg); /* still ours */
    zmsg_destroy(&msg);
    assert_null(ald_sock_recv(dealer));
    ald_sock_destroy(&dealer);

    ald_sock_t *router = opened(&ROUTER, at, true);
    msg = message(4); /* a routing id that nobody has */
    (void)zmsg_addstr(msg, "x");
    assert_int_equal(ald_sock_send(router, &msg), ALD_AGAIN);
    assert_non_null(msg);
    zmsg_destroy(&msg);
    ald_sock_destroy(&router);
}

static void test_endpoints_of_the_settings(void **state)
{
    (void)state;
    struct ald_settings settings = {.bus = {.run = "/run/x", .jobs = "tcp://127.0.0.1:7000"}};
    char out[600];
    struct ald_err err = {0};
    assert_int_equal(ald_sock_endpoint(&settings, "events", out, sizeof out, &err), ALD_OK);
    assert_string_equal(out, "ipc:///run/x/events");
    assert_int_equal(ald_sock_endpoint(&settings, "jobs", out, sizeof out, &err), ALD_OK);
    assert_string_equal(out, "tcp://127.0.0.1:7000");
    assert_int_equal(ald_sock_endpoint(&settings, "control-dlq", out, sizeof out, &err), ALD_OK);
    assert_string_equal(out, "ipc:///run/x/control-dlq");
    memset(settings.bus.run, 'a', 200);
    assert_int_equal(ald_sock_endpoint(&settings, "events", out, sizeof out, &err), ALD_TOOBIG);
    assert_non_null(strstr(err.text, "bus.run"));
}

static void test_frames(void **state)
{
    (void)state;
    zmsg_t *msg = zmsg_new();
    struct msg_ack ack = {.num = 5, .disposition = "applied"};
    struct msg_ack back;
    assert_int_equal(ald_frame_add(msg, &MSG_ACK, &ack), ALD_OK);
    assert_int_equal(ald_wire_decode(&MSG_ACK, &back, ald_frame_span(zmsg_first(msg))), ALD_OK);
    assert_int_equal(back.num, 5);
    ack.num = UINT64_MAX; /* more than any language keeps */
    assert_int_equal(ald_frame_add(msg, &MSG_ACK, &ack), ALD_TOOBIG);
    assert_int_equal(zmsg_size(msg), 1);
    zmsg_destroy(&msg);
}

int main(void)
{
    zsys_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_example, setup, teardown),
        cmocka_unit_test_setup_teardown(test_watched_is_called_again_for_what_is_left, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_watched_sees_what_came_with_a_send, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_seat_that_is_pulled_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_endpoint_has_one_owner, setup, teardown),
        cmocka_unit_test_setup_teardown(test_where_no_socket_can_be_made, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_folder_of_somebody_else, setup, teardown),
        cmocka_unit_test(test_only_this_machine_is_reached),
        cmocka_unit_test_setup_teardown(test_a_frame_has_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sending_never_waits, setup, teardown),
        cmocka_unit_test(test_endpoints_of_the_settings),
        cmocka_unit_test(test_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
