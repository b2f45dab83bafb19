/* fetch_ask.h - what is asked, told to libcurl: for fetch.c alone. One thread. */
#ifndef ALD_POLLER_FETCH_ASK_H
#define ALD_POLLER_FETCH_ASK_H

#include <curl/curl.h>

#include "common/base/buf.h"
#include "services/poller/fetch.h"

/* Set address, method, headers and body of a handle. body keeps a copy, and *own the headers of
 * this request beside the common ones; both are the caller's until the next request of the handle,
 * and what *own held before is freed. False: libcurl refuses it, or it is too big. */
bool fetch_ask(CURL *easy, const struct fetch_request *request, struct curl_slist *common,
               struct ald_buf *body, struct curl_slist **own);

#endif
