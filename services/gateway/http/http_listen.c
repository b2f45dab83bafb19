#include "services/gateway/http/http_listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/config/address.h"
#include "services/gateway/http/http_frame.h"

/* Its own times end later than ours: it answers 400 to what may be genuine. */
enum { LISTEN_LIBRARY_MS = 1000 };

static const struct {
    const char *name;
    const char *value;
} listen_fixed[] = {
    {"enable_keep_alive", "yes"},
    {"tcp_nodelay", "1"},
    {"listen_backlog", "1024"},
    {"authentication_domain", "/"}, /* no host is this: absolute targets come to http.c */
    {"decode_url", "no"},
    {"decode_query_string", "no"},
    {"enable_directory_listing", "no"},
    {"access_control_allow_origin", ""},
    {"access_control_allow_methods", ""},
    {"access_control_allow_headers", ""},
};

static size_t listen_say(struct http_listen_options *out, size_t used, const char *name,
                         const char *value)
{
    ALD_ASSERT(used + 2 < ALD_COUNT(out->list));
    out->list[used++] = name;
    out->list[used++] = value;
    out->list[used] = NULL;
    return used;
}

void http_listen_options(const struct http_options *from, struct http_listen_options *out)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"num_threads", from->threads},
        {"request_timeout_ms", from->request_timeout_ms + LISTEN_LIBRARY_MS},
        {"keep_alive_timeout_ms", from->keep_alive_ms},
        {"max_request_size", HTTP_FRAME_HEAD_MAX},
        {"connection_queue", from->queue},
    };
    _Static_assert(ALD_COUNT(numbers) == ALD_COUNT(out->numbers), "a text for each number");
    size_t used = listen_say(out, 0, "listening_ports", from->listen);
    for (size_t i = 0; i < ALD_COUNT(numbers); i++) {
        char *text = out->numbers[i];
        (void)snprintf(text, sizeof out->numbers[i], "%lld", (long long)numbers[i].value);
        used = listen_say(out, used, numbers[i].name, text);
    }
    for (size_t i = 0; i < ALD_COUNT(listen_fixed); i++)
        used = listen_say(out, used, listen_fixed[i].name, listen_fixed[i].value);
}

/* 0: nothing is wrong with it now. */
static int listen_errno(const struct sockaddr_in *address)
{
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int error = 0;
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) != 0 || listen(fd, 1) != 0)
        error = errno;
    close(fd);
    return error;
}

static const char *listen_advice(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "another process listens there; stop it, or change";
    case EADDRNOTAVAIL:
        return "it is no address of this machine; change";
    case EACCES:
        return "ports below 1024 are for root; change";
    default:
        return "see";
    }
}

enum ald_rc http_listen_failed(const char *listen, const char *setting, const char *said,
                               struct ald_err *err)
{
    struct sockaddr_in address;
    int error = ald_address_parse(listen, &address) == ALD_OK ? listen_errno(&address) : 0;
    return ald_err_set(err, ALD_IO, "cannot listen on %s: %s: %s %s.", listen,
                       error != 0 ? strerror(error) : said, listen_advice(error), setting);
}
