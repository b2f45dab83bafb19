#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "services/poller/fetch.h"

enum { PEERS_MAX = 64, DEADLINE_MS = 20000 };

/* A server on the test's own loop: to each request it says the same words. */
struct server {
    zloop_t *loop;
    int fd;
    unsigned port;
    const char *words;
    bool close_after;  /* the words are all: hang up */
    unsigned accepted; /* connections */
    unsigned requests;
    int peers[PEERS_MAX];
    char last[4096]; /* request */
};

/* The answers that came. */
struct answers {
    unsigned count;
    unsigned wanted;
    struct fetch_answer last;
    char error[256];
    char body[256];
    char type[64];
};

static void server_hang_up(struct server *self, int fd)
{
    zmq_pollitem_t item = {.fd = fd, .events = ZMQ_POLLIN};
    zloop_poller_end(self->loop, &item);
    for (size_t i = 0; i < PEERS_MAX; i++) {
        if (self->peers[i] == fd)
            self->peers[i] = 0;
    }
    close(fd);
}

static int server_on_bytes(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop;
    struct server *self = arg;
    int fd = item->fd;
    ssize_t len = recv(fd, self->last, sizeof self->last - 1, MSG_DONTWAIT);
    if (len <= 0) {
        server_hang_up(self, fd);
        return 0;
    }
    self->last[len] = '\0';
    self->requests++;
    if (self->words)
        (void)!send(fd, self->words, strlen(self->words), MSG_NOSIGNAL);
    if (self->close_after)
        server_hang_up(self, fd);
    return 0;
}

static int server_on_peer(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct server *self = arg;
    int fd = accept(item->fd, NULL, NULL);
    assert_true(fd >= 0 && self->accepted < PEERS_MAX);
    self->peers[self->accepted++] = fd;
    zmq_pollitem_t peer = {.fd = fd, .events = ZMQ_POLLIN};
    return zloop_poller(loop, &peer, server_on_bytes, self);
}

static int bound_socket(unsigned *port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void server_open(struct server *self, zloop_t *loop, const char *words)
{
    *self = (struct server){.loop = loop, .words = words};
    self->fd = bound_socket(&self->port);
    assert_int_equal(listen(self->fd, PEERS_MAX), 0);
    zmq_pollitem_t item = {.fd = self->fd, .events = ZMQ_POLLIN};
    assert_int_equal(zloop_poller(loop, &item, server_on_peer, self), 0);
}

static void server_close(struct server *self)
{
    for (size_t i = 0; i < PEERS_MAX; i++) {
        if (self->peers[i])
            server_hang_up(self, self->peers[i]);
    }
    zmq_pollitem_t item = {.fd = self->fd, .events = ZMQ_POLLIN};
    zloop_poller_end(self->loop, &item);
    close(self->fd);
}

static void keep(char *out, size_t cap, struct ald_span from)
{
    size_t len = from.len < cap - 1 ? from.len : cap - 1;
    if (len)
        memcpy(out, from.data, len);
    out[len] = '\0';
}

static void on_answer(void *arg, const struct fetch_answer *answer)
{
    struct answers *self = arg;
    self->count++;
    self->last = *answer;
    snprintf(self->error, sizeof self->error, "%s", answer->error);
    keep(self->body, sizeof self->body, answer->body);
    keep(self->type, sizeof self->type, answer->content_type);
}

struct bench {
    zloop_t *loop;
    fetch_t *fetch;
    struct server server;
    struct answers answers;
    int64_t until_ms;
};

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    const struct bench *self = arg;
    bool late = ald_clock_now().mono_ms > self->until_ms;
    return self->answers.count >= self->answers.wanted || late ? -1 : 0;
}

static int set_up(void **state)
{
    struct bench *self = calloc(1, sizeof *self);
    zsys_handler_set(NULL);
    self->loop = zloop_new();
    zloop_set_nonstop(self->loop, true);
    const struct fetch_options options = {.max_under_way = 40, .per_host = 8, .max_held_bytes = 80};
    assert_int_equal(fetch_new(self->loop, &options, &self->fetch, NULL), ALD_OK);
    server_open(&self->server, self->loop, NULL);
    zloop_timer(self->loop, 2, 0, on_tick, self);
    *state = self;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *self = *state;
    fetch_destroy(&self->fetch);
    server_close(&self->server);
    zloop_destroy(&self->loop);
    free(self);
    return 0;
}

static enum ald_rc start_url(struct bench *self, const char *url, const char *post,
                             int64_t timeout_ms)
{
    const struct fetch_request request = {
        .url = url,
        .post = ald_span_str(post),
        .timeout_ms = timeout_ms,
        .max_bytes = 64,
        .done = on_answer,
        .arg = &self->answers,
    };
    return fetch_start(self->fetch, &request);
}

static void start(struct bench *self, const char *post, int64_t timeout_ms)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/res.php?key=SECRET&id=1", self->server.port);
    assert_int_equal(start_url(self, url, post, timeout_ms), ALD_OK);
}

/* Turn the loop until so many answers have come. */
static void await(struct bench *self, unsigned count)
{
    self->answers.wanted = count;
    self->until_ms = ald_clock_now().mono_ms + DEADLINE_MS;
    zloop_start(self->loop);
    assert_int_equal(self->answers.count, count);
}

static void test_example(void **state)
{
    struct bench *self = *state;
    self->server.words = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n"
                         "\r\nOK|x";
    start(self, "", 10000);
    await(self, 1);
    assert_true(self->answers.last.left && self->answers.last.answered);
    assert_int_equal(self->answers.last.status, 200);
    assert_string_equal(self->answers.body, "OK|x");
    assert_string_equal(self->answers.type, "text/plain");
    assert_string_equal(self->answers.error, "");
    assert_non_null(strstr(self->server.last, "GET /res.php?key=SECRET&id=1 HTTP/1.1\r\n"));
    assert_non_null(strstr(self->server.last, "User-Agent: aldaba/"));
    assert_null(strstr(self->server.last, "Accept-Encoding"));
}

/* What a server says, and what that is worth. */
static void test_server_words(void **state)
{
    struct bench *self = *state;
    static const struct {
        const char *name;
        const char *words;
        bool close_after;
        bool answered;
        unsigned status;
        const char *body;
    } cases[] = {
        {"whole", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", false, true, 200, "ab"},
        {"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
         false, true, 200, "a"},
        {"trailer",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nA: b\r\n\r\n", false,
         true, 200, "a"},
        {"empty", "HTTP/1.1 204 No Content\r\n\r\n", false, true, 204, ""},
        {"bad gateway", "HTTP/1.1 502 Bad\r\nContent-Length: 3\r\n\r\n<p>", false, true, 502,
         "<p>"},
        {"redirect",
         "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", false,
         true, 302, ""},
        {"continue", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", true, false, 200, ""},
        {"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nOK|x", true, false, 200,
         "OK|x"},
        {"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nOK|x", true,
         false, 200, "OK|x"},
        {"half a head", "HTTP/1.1 200 OK\r\nContent-Le", true, false, 200, ""},
        {"nothing", "", true, false, 0, ""},
        {"no HTTP", "hello\r\n", true, false, 0, ""},
        {"too big",
         "HTTP/1.1 200 OK\r\nContent-Length: 70\r\n\r\n"
         "0123456789012345678901234567890123456789012345678901234567890123456789",
         false, false, 200, "0123456789012345678901234567890123456789012345678901234567890123"},
    };
    unsigned count = 0;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        self->server.words = cases[i].words;
        self->server.close_after = cases[i].close_after;
        start(self, "", 5000);
        await(self, ++count);
        print_message("%s: %s\n", cases[i].name, self->answers.error);
        assert_true(self->answers.last.left);
        assert_int_equal(self->answers.last.answered, cases[i].answered);
        assert_int_equal(self->answers.last.status, cases[i].status);
        assert_string_equal(self->answers.body, cases[i].body);
        assert_int_equal(self->answers.error[0] == '\0', cases[i].answered);
        assert_null(strstr(self->answers.error, "SECRET"));
    }
}

static void test_requests_that_never_left(void **state)
{
    struct bench *self = *state;
    unsigned port = 0;
    int fd = bound_socket(&port); /* and nobody listens */
    char refused[128];
    snprintf(refused, sizeof refused, "http://127.0.0.1:%u/?key=SECRET", port);
    const char *const urls[] = {
        refused,
        "http://no-such-host.invalid/?key=SECRET",
        "ftp://127.0.0.1/SECRET",
        "http://127.0.0.1:99999/SECRET",
    };
    unsigned count = 0;
    for (size_t i = 0; i < ALD_COUNT(urls); i++) {
        assert_int_equal(start_url(self, urls[i], "", 3000), ALD_OK);
        await(self, ++count);
        print_message("%s\n", self->answers.error);
        assert_false(self->answers.last.left || self->answers.last.answered);
        assert_int_equal(self->answers.last.status, 0);
        assert_string_not_equal(self->answers.error, "");
        assert_null(strstr(self->answers.error, "SECRET"));
    }
    assert_int_equal(start_url(self, "file:///etc/passwd", "", 3000), ALD_INVALID);
    assert_int_equal(start_url(self, "127.0.0.1/x", "", 3000), ALD_INVALID);
    close(fd);
}

/* One answer about a name is an answer to all that ask for it. */
static void test_an_unknown_name_fails_all_that_wait(void **state)
{
    struct bench *self = *state;
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(start_url(self, "http://no-such-host.invalid/", "", 5000), ALD_OK);
    await(self, 30);
    assert_false(self->answers.last.left);
    assert_int_equal(fetch_under_way(self->fetch), 0);
}

static void test_time_limits(void **state)
{
    struct bench *self = *state;
    self->server.words = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nOK|x";
    start(self, "", 100);
    await(self, 1);
    assert_true(self->answers.last.left);
    assert_false(self->answers.last.answered);
    assert_in_range(self->answers.last.took_ms, 99, 5000);
    assert_string_equal(self->answers.error, "no whole answer within the time limit");
}

static void test_post_is_sent_as_a_form(void **state)
{
    struct bench *self = *state;
    self->server.words = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    start(self, "key=SECRET&id=1", 5000);
    await(self, 1);
    assert_non_null(strstr(self->server.last, "POST /res.php"));
    assert_non_null(strstr(self->server.last, "application/x-www-form-urlencoded"));
    assert_non_null(strstr(self->server.last, "\r\n\r\nkey=SECRET&id=1"));
    start(self, "", 5000);
    await(self, 2);
    assert_non_null(strstr(self->server.last, "GET /res.php"));
    assert_null(strstr(self->server.last, "Content-Length"));
}

static void test_connections_are_used_again_and_bounded(void **state)
{
    struct bench *self = *state;
    self->server.words = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for (unsigned i = 0; i < 40; i++)
        start(self, "", 10000);
    assert_int_equal(fetch_under_way(self->fetch), 40);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", self->server.port);
    assert_int_equal(start_url(self, url, "", 1000), ALD_FULL);
    await(self, 40);
    assert_int_equal(self->server.requests, 40);
    assert_in_range(self->server.accepted, 1, 8);
    assert_int_equal(fetch_under_way(self->fetch), 0);
}

/* Connections that the server sees. */
static unsigned connected(const struct server *self)
{
    unsigned count = 0;
    for (size_t i = 0; i < PEERS_MAX; i++)
        count += self->peers[i] != 0;
    return count;
}

static void test_a_connection_of_its_own_is_not_kept(void **state)
{
    struct bench *self = *state;
    char url[64];
    self->server.words = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", self->server.port);
    struct fetch_request request = {.url = url,
                                    .timeout_ms = 10000,
                                    .max_bytes = 64,
                                    .once = true,
                                    .done = on_answer,
                                    .arg = &self->answers};
    for (unsigned i = 1; i <= 50; i++) { /* more than may be under way */
        assert_int_equal(fetch_start(self->fetch, &request), ALD_OK);
        await(self, i);
        assert_int_equal(self->server.accepted, i);
        assert_in_range(connected(&self->server), 0, 2); /* it hears of the end a turn later */
    }
    request.once = false;
    for (unsigned i = 51; i <= 53; i++) {
        assert_int_equal(fetch_start(self->fetch, &request), ALD_OK);
        await(self, i);
        assert_int_equal(self->server.accepted, 51);
    }
}

/* Idle ones count: descriptors are bounded by what may be under way. */
static void test_idle_connections_make_room_for_others(void **state)
{
    enum { SERVERS = 8, MOST = 2 };
    struct bench *self = *state;
    struct server others[SERVERS];
    const struct fetch_options options = {
        .max_under_way = MOST, .per_host = 8, .max_held_bytes = 1024};
    fetch_destroy(&self->fetch);
    assert_int_equal(fetch_new(self->loop, &options, &self->fetch, NULL), ALD_OK);
    for (unsigned i = 0; i < SERVERS; i++)
        server_open(&others[i], self->loop, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    for (unsigned i = 0; i < SERVERS; i++) {
        char url[64];
        unsigned open = 0;
        snprintf(url, sizeof url, "http://127.0.0.1:%u/", others[i].port);
        assert_int_equal(start_url(self, url, "", 10000), ALD_OK);
        await(self, i + 1);
        assert_true(self->answers.last.answered);
        for (unsigned k = 0; k < SERVERS; k++)
            open += connected(&others[k]);
        assert_in_range(open, 1, MOST + 1); /* one hears of its end a turn later */
    }
    for (unsigned i = 0; i < SERVERS; i++)
        server_close(&others[i]);
}

/* Three answers of 32 bytes, none of them whole, where 80 are held at most. */
static void test_bodies_are_bounded_together(void **state)
{
    struct bench *self = *state;
    self->server.words = "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n"
                         "01234567890123456789012345678901";
    for (unsigned i = 0; i < 3; i++)
        start(self, "", 20000);
    await(self, 1);
    assert_string_equal(self->answers.error, "too many bytes of other answers are under way");
    assert_int_equal(fetch_under_way(self->fetch), 2);
    fetch_abort_all(self->fetch, "stopped");
    self->server.words = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nOK|x";
    start(self, "", 20000);
    await(self, 4);
    assert_true(self->answers.last.answered);
}

static void test_abort(void **state)
{
    struct bench *self = *state;
    for (unsigned i = 0; i < 12; i++)
        start(self, "", 60000);
    fetch_abort_all(self->fetch, "stopped");
    assert_int_equal(self->answers.count, 12);
    assert_string_equal(self->answers.error, "stopped");
    assert_false(self->answers.last.answered);
    start(self, "", 60000); /* destroyed while under way */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_example, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_server_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_requests_that_never_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_unknown_name_fails_all_that_wait, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_time_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_post_is_sent_as_a_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_connections_are_used_again_and_bounded, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_connection_of_its_own_is_not_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_idle_connections_make_room_for_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_bodies_are_bounded_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_abort, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
