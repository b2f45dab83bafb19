/* profile_request.h - the requests that a profile describes, filled in for one task. Nothing is
 * sent from here. Any thread. */
#ifndef ALD_CONFIG_PROFILE_REQUEST_H
#define ALD_CONFIG_PROFILE_REQUEST_H

#include "common/config/extract.h"
#include "common/config/profile.h"

/* What a caller gives to be submitted: the members of a JSON object. Borrowed from its text. */
struct ald_given {
    struct ald_json params; /* an object; NONE = without any */
    struct ald_json files; /* an object of {"content": base64, "name": ..., "type": ...}; or NONE */
};

/* Read `{"params": {...}, "files": {...}}`. ALD_MALFORMED: it is no such JSON; *why is a sentence.
 */
ALD_NODISCARD enum ald_rc ald_given_read(struct ald_span text, struct ald_given *out,
                                         const char **why);

/* What a request is filled in with. NULL is absent. */
struct ald_request_in {
    enum ald_stage stage;
    const char *id;                                    /* the provider's */
    bool several;                                      /* id is several, joined by commas */
    const char *poll_url;                              /* as the provider gave it */
    const char *result_url;                            /* the same */
    const char *callback_url;                          /* ours */
    const char *(*param)(void *arg, const char *name); /* of the caller; may answer NULL */
    void *arg;
    const struct ald_given *given; /* with ALD_STAGE_SUBMIT: what the caller wants submitted */
    bool rehearsed;      /* nothing will be sent: a secret that is not resolved stands for itself */
    struct ald_err *why; /* NULL, or: is told what is wrong with what was given, by its name; values
                            are never shown */
};

/* A request, ready to be sent. */
struct ald_request {
    char method[8];
    char content_type[80]; /* of the body; "" without one */
    struct ald_buf url;
    struct ald_buf headers; /* "Name: value\n" each; they may hold secrets */
    struct ald_buf body;
};

/* Each buffer takes at most max bytes. */
void ald_request_init(struct ald_request *self, size_t max);
void ald_request_free(struct ald_request *self);

/* Write the request of a stage: all but a body that is the caller's own.
 * ALD_OK. ALD_MISSING: the profile has no such request, or something that it needs is absent or not
 * resolved. ALD_INVALID: what was given can't stand in its place, or an address of the provider's
 * is none or has another host than the profile's. ALD_TOOBIG. */
ALD_NODISCARD enum ald_rc ald_profile_request(const struct ald_profile *profile,
                                              const struct ald_request_in *in,
                                              struct ald_request *out);

/* May this address, as a provider gave it, be asked at this stage: is it one, on the profile's own
 * scheme, host and port? Where the profile names no host of its own, beside is an address that is
 * known to be right; NULL: then no address is. */
bool ald_profile_address_ok(const struct ald_profile *profile, enum ald_stage stage,
                            const char *beside, const char *url);

/* Bytes of each part of a submission: forms triple what they encode. */
enum { ALD_SUBMIT_REQUEST_MAX = 2 << 20 };

/* Could this, the text of a struct ald_given, be submitted? It needs no secrets.
 * ALD_OK. Else as ald_profile_request, or ALD_MALFORMED, and err has a sentence: whoever tries
 * later gets the same answer. */
ALD_NODISCARD enum ald_rc ald_profile_rehearse(const struct ald_profile *profile,
                                               struct ald_span submission, const char *callback_url,
                                               struct ald_err *err);

/* Write a request of a caller's own, to where the profile's polls go: path is the last part of the
 * address, "" that of polls. Of the polls' parameters those that hold a secret go with it, over
 * what is given. ALD_MISSING also: the address of polls is that of one task. */
ALD_NODISCARD enum ald_rc ald_profile_call(const struct ald_profile *profile, const char *path,
                                           const struct ald_given *given, struct ald_request *out);

/* How long a task may wait to be submitted. */
int64_t ald_profile_submit_within(const struct ald_profile *profile);

/* Does the profile have a request for this stage? */
bool ald_profile_asks(const struct ald_profile *profile, enum ald_stage stage);

#endif
