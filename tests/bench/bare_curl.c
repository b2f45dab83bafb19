/* bare_curl.c - the yardstick of the poller: libcurl's multi interface on an epoll set, and nothing
 * else. So many transfers of one address are under way, each begun again as soon as it has ended.
 *
 * Use: bare_curl URL TRANSFERS SECONDS. Prints `figures requests=N us=N bad=N`. */
#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { TRANSFERS_MAX = 10000, EVENTS = 256 };

struct bare {
    CURLM *multi;
    int epoll;
    long wait_ms; /* what libcurl asks for; -1: nothing */
    long requests, bad;
};

static long long now_us(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (long long)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

static size_t bare_body(char *data, size_t size, size_t count, void *arg)
{
    (void)data;
    (void)arg;
    return size * count;
}

static int bare_timer(CURLM *multi, long wait_ms, void *arg)
{
    struct bare *self = (struct bare *)arg;
    (void)multi;
    self->wait_ms = wait_ms;
    return 0;
}

static int bare_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
    struct bare *self = (struct bare *)arg;
    struct epoll_event event = {.data.fd = fd};
    (void)easy;
    if (what == CURL_POLL_REMOVE)
        return epoll_ctl(self->epoll, EPOLL_CTL_DEL, fd, NULL) == 0 || errno == EBADF ? 0 : -1;
    if (what != CURL_POLL_OUT)
        event.events |= EPOLLIN;
    if (what != CURL_POLL_IN)
        event.events |= EPOLLOUT;
    if (!known)
        (void)curl_multi_assign(self->multi, fd, self);
    return epoll_ctl(self->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
}

static void bare_again(struct bare *self)
{
    int left = 0;
    CURLMsg *message = NULL;
    while ((message = curl_multi_info_read(self->multi, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURL *easy = message->easy_handle;
        self->requests++;
        self->bad += message->data.result != CURLE_OK;
        (void)curl_multi_remove_handle(self->multi, easy);
        (void)curl_multi_add_handle(self->multi, easy);
    }
}

static void bare_turn(struct bare *self)
{
    struct epoll_event events[EVENTS];
    int running = 0;
    int wait_ms = self->wait_ms < 0 || self->wait_ms > 100 ? 100 : (int)self->wait_ms;
    int count = epoll_wait(self->epoll, events, EVENTS, wait_ms);
    if (count <= 0)
        (void)curl_multi_socket_action(self->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    for (int i = 0; i < count; i++) {
        int mask = (events[i].events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & EPOLLERR ? CURL_CSELECT_ERR : 0);
        (void)curl_multi_socket_action(self->multi, events[i].data.fd, mask, &running);
    }
    bare_again(self);
}

static bool bare_begin(struct bare *self, const char *url, long transfers)
{
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    self->multi = curl_multi_init();
    if (self->epoll < 0 || !self->multi)
        return false;
    (void)curl_multi_setopt(self->multi, CURLMOPT_SOCKETFUNCTION, bare_socket);
    (void)curl_multi_setopt(self->multi, CURLMOPT_SOCKETDATA, self);
    (void)curl_multi_setopt(self->multi, CURLMOPT_TIMERFUNCTION, bare_timer);
    (void)curl_multi_setopt(self->multi, CURLMOPT_TIMERDATA, self);
    (void)curl_multi_setopt(self->multi, CURLMOPT_MAXCONNECTS, transfers);
    for (long i = 0; i < transfers; i++) {
        CURL *easy = curl_easy_init();
        if (!easy || curl_easy_setopt(easy, CURLOPT_URL, url) != CURLE_OK)
            return false;
        (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, bare_body);
        (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        (void)curl_multi_add_handle(self->multi, easy);
    }
    return true;
}

int main(int argc, char **argv)
{
    long transfers = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
    long seconds = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    if (transfers < 1 || transfers > TRANSFERS_MAX || seconds < 1) {
        fprintf(stderr, "use: bare_curl URL TRANSFERS SECONDS\n");
        return 64;
    }
    struct bare self = {.wait_ms = 0};
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        !bare_begin(&self, argv[1], transfers)) {
        fprintf(stderr, "bare_curl: libcurl does not start\n");
        return 69;
    }
    long long began_us = now_us();
    while (now_us() - began_us < seconds * 1000000LL)
        bare_turn(&self);
    printf("figures requests=%ld us=%lld bad=%ld\n", self.requests, now_us() - began_us, self.bad);
    return 0;
}
