/* How long a callback takes to be written and read: `time_wire [ROUNDS]`. No test: it prints. */
#include "proto/messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BODY_BYTES = 400, REPEATS = 300 };

static const uint8_t body[BODY_BYTES] = {0x7b};

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct msg_callback callback(void)
{
    return (struct msg_callback){
        .num = 1842001,
        .provider = "transcriber",
        .task = 1234567890123456,
        .attempt = 1,
        .proof = "token",
        .method = "POST",
        .path = "/cb/transcriber/{token}",
        .query = ald_span_str("id=7"),
        .content_type = "application/json",
        .headers = ald_span_str("User-Agent: transcriber/2\n"),
        .body = ald_span_of(body, sizeof(body)),
        .peer = "192.0.2.7",
        .received_at_ms = 1795953600123,
    };
}

/* Nanoseconds a round of writing, and of reading; a negative number when either fails. */
static int time_round(unsigned rounds, struct ald_buf *out, double *write_ns, double *read_ns)
{
    struct msg_callback sent = callback();
    struct msg_callback got;
    int64_t began = now_ns();
    for (unsigned i = 0; i < rounds; i++) {
        ald_buf_reset(out);
        sent.num++;
        if (ald_wire_encode(&MSG_CALLBACK, &sent, out) != ALD_OK)
            return -1;
    }
    int64_t written = now_ns();
    for (unsigned i = 0; i < rounds; i++) {
        if (ald_wire_decode(&MSG_CALLBACK, &got, ald_buf_span(out)) != ALD_OK ||
            got.num != sent.num)
            return -1;
    }
    *write_ns = (double)(written - began) / rounds;
    *read_ns = (double)(now_ns() - written) / rounds;
    return 0;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5000;
    struct ald_buf out;
    ald_buf_init(&out, 4096);
    double best_write = 1e9;
    double best_read = 1e9;
    for (unsigned i = 0; i < REPEATS; i++) {
        double write_ns;
        double read_ns;
        if (rounds == 0 || time_round(rounds, &out, &write_ns, &read_ns) != 0)
            return EXIT_FAILURE;
        best_write = write_ns < best_write ? write_ns : best_write;
        best_read = read_ns < best_read ? read_ns : best_read;
    }
    printf("callback of %zu bytes: write %.0f ns, read %.0f ns\n", out.len, best_write, best_read);
    ald_buf_free(&out);
    return EXIT_SUCCESS;
}
