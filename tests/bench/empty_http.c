/* empty_http.c - the yardstick of the benchmark: an HTTP server on the gateway's library, with the
 * gateway's options, whose handler does nothing but answer. It reads no body and keeps nothing.
 *
 * Use: empty_http THREADS. Prints `ready port=N` on stderr and runs until SIGTERM. */
#include <civetweb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int empty_serve(struct mg_connection *connection)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\n"
                                 "Content-Type: text/plain; charset=utf-8\r\n"
                                 "Connection: keep-alive\r\n"
                                 "Content-Length: 2\r\n\r\nOK";
    (void)mg_write(connection, answer, sizeof answer - 1);
    return 200;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "use: empty_http THREADS\n");
        return 64;
    }
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    /* As in services/gateway/http/http.c. */
    const char *options[] = {"listening_ports",
                             "127.0.0.1:0",
                             "num_threads",
                             argv[1],
                             "request_timeout_ms",
                             "5000",
                             "keep_alive_timeout_ms",
                             "5000",
                             "enable_keep_alive",
                             "yes",
                             "tcp_nodelay",
                             "1",
                             "max_request_size",
                             "327680",
                             "connection_queue",
                             "256",
                             "listen_backlog",
                             "512",
                             "decode_url",
                             "no",
                             "decode_query_string",
                             "no",
                             "enable_directory_listing",
                             "no",
                             "access_control_allow_origin",
                             "",
                             "access_control_allow_methods",
                             "",
                             "access_control_allow_headers",
                             "",
                             NULL};
    const struct mg_callbacks callbacks = {.begin_request = empty_serve};
    (void)mg_init_library(0);
    struct mg_context *context = mg_start(&callbacks, NULL, options);
    struct mg_server_port port;
    if (!context || mg_get_server_ports(context, 1, &port) != 1) {
        fprintf(stderr, "empty_http: cannot listen\n");
        return 69;
    }
    fprintf(stderr, "ready port=%d\n", port.port);
    int number = 0;
    (void)sigwait(&stop, &number);
    mg_stop(context);
    return 0;
}
