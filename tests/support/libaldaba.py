"""libaldaba from Python, by ctypes: each function as aldaba.h has it, for tests of the library itself.
The library is that of the build folder $ALDABA_BIN."""
import ctypes
import glob
import os

C = ctypes
RC = {0: "ok", 1: "none", 2: "gap", 3: "changed", 4: "late", -1: "invalid", -2: "refused",
      -3: "system", -4: "full", -5: "forked"}
WORDS = ("position", "provider", "provider_id", "state", "source", "code", "key", "meta", "trace",
         "corrects", "result_type")
LOG = C.CFUNCTYPE(None, C.c_int, C.c_char_p, C.c_void_p)


class Options(C.Structure):
    _fields_ = [("size", C.c_size_t), ("run", C.c_char_p), ("consume", C.c_char_p),
                ("feed", C.c_char_p), ("provider", C.c_char_p), ("state", C.c_char_p),
                ("from_", C.c_char_p), ("buffer", C.c_uint32), ("buffer_bytes", C.c_size_t),
                ("log", LOG), ("log_arg", C.c_void_p), ("consumer", C.c_char_p),
                ("instance", C.c_char_p), ("mode", C.c_char_p), ("max_deliver", C.c_uint32),
                ("ack_wait_ms", C.c_int64), ("max_ack_pending", C.c_uint32)]


class RawEvent(C.Structure):
    _fields_ = [("lane", C.c_uint64), ("seq", C.c_uint64), ("task", C.c_uint64),
                *[(word, C.c_char_p) for word in WORDS], ("result", C.c_void_p),
                ("result_bytes", C.c_size_t), ("received_at_ms", C.c_int64),
                ("published_at_ms", C.c_int64), ("deliveries", C.c_uint64),
                ("redelivered", C.c_bool)]


class Status(C.Structure):
    _fields_ = [("size", C.c_size_t), ("connected", C.c_bool), ("refused", C.c_bool),
                ("waiting", C.c_size_t), ("given", C.c_size_t), ("unsettled", C.c_size_t),
                ("position", C.c_char * 129), ("gap_before", C.c_char * 129),
                ("gap_why", C.c_char * 33), ("text", C.c_char * 257)]


def path():
    """Of the shared library, None when there is no such build."""
    where = os.environ.get("ALDABA_BIN", "")
    found = [*glob.glob(os.path.join(where, "common/client/libaldaba.so")),
             *glob.glob(os.path.join(where, "libaldaba.so"))]
    return os.path.abspath(found[0]) if where and found else None


def load():
    lib = C.CDLL(path())
    handle, event = C.c_void_p, C.POINTER(RawEvent)
    for name, result, *arguments in (
            ("open", C.c_int, C.POINTER(Options), C.POINTER(handle), C.c_char_p, C.c_size_t),
            ("next", C.c_int, handle, C.c_int, C.POINTER(event)), ("fd", C.c_int, handle),
            ("event_copy", event, event), ("event_free", None, event),
            ("ack", C.c_int, handle, C.c_uint64, C.c_uint64),
            ("ack_to", C.c_int, handle, C.c_uint64, C.c_uint64),
            ("nack", C.c_int, handle, C.c_uint64, C.c_uint64, C.c_int64, C.c_char_p),
            ("reject", C.c_int, handle, C.c_uint64, C.c_uint64, C.c_char_p),
            ("extend", C.c_int, handle, C.c_uint64, C.c_uint64, C.c_int64),
            ("flush", C.c_int, handle, C.c_int), ("status", C.c_int, handle, C.POINTER(Status)),
            ("close", C.c_int, C.POINTER(handle), C.c_int), ("version", C.c_char_p),
            ("rc_name", C.c_char_p, C.c_int)):
        function = getattr(lib, f"aldaba_{name}")
        function.restype, function.argtypes = result, arguments
    return lib


class Event:
    """A copy of what aldaba_next gave."""

    def __init__(self, raw):
        for name, kind in RawEvent._fields_:
            value = getattr(raw, name)
            setattr(self, name, value.decode() if kind is C.c_char_p else value)
        self.result = C.string_at(raw.result, raw.result_bytes)
        self.name = (self.lane, self.seq)


class Refused(Exception):
    """aldaba_open did not."""


class Handle:
    """Use as a context manager; the end closes it without waiting."""

    def __init__(self, lib, **options):
        self.lib = lib
        self.logged = []
        # Kept as long as the handle: the thread inside calls it.
        self.log = LOG(lambda level, text, _: self.logged.append((level, text.decode())))
        given = {("from_" if key == "from" else key): value.encode() if isinstance(value, str) else value
                 for key, value in options.items()}
        raw = Options(size=C.sizeof(Options), log=self.log, **given)
        self.handle, why = C.c_void_p(), C.create_string_buffer(256)
        rc = lib.aldaba_open(C.byref(raw), C.byref(self.handle), why, len(why))
        if rc != 0:
            raise Refused(RC[rc], why.value.decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close(0)

    def next(self, wait_ms=0):
        """(code, Event or None)"""
        event = C.POINTER(RawEvent)()
        rc = self.lib.aldaba_next(self.handle, wait_ms, C.byref(event))
        return RC[rc], Event(event.contents) if event else None

    def take(self, count, wait_ms=20000):
        """So many events; news are passed over."""
        events = []
        while len(events) < count:
            rc, event = self.next(wait_ms)
            assert rc in ("ok", "changed"), (rc, len(events), self.status().text, self.logged)
            events += [event] if event else []
        return events

    def word(self, verb, event, *arguments):
        return RC[getattr(self.lib, f"aldaba_{verb}")(self.handle, event.lane, event.seq, *arguments)]

    def ack(self, event):
        return self.word("ack", event)

    def fd(self):
        return self.lib.aldaba_fd(self.handle)

    def flush(self, wait_ms=20000):
        return RC[self.lib.aldaba_flush(self.handle, wait_ms)]

    def status(self):
        status = Status(size=C.sizeof(Status))
        assert self.lib.aldaba_status(self.handle, C.byref(status)) == 0
        return status

    def close(self, wait_ms=20000):
        return RC[self.lib.aldaba_close(C.byref(self.handle), wait_ms)]
