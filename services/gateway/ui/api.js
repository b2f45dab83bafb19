/* Asking the gateway. The token lives as long as the tab, and is sent in a header, never in an
 * address; there are no cookies, so a page of somebody else can't use it. */

const TOKEN = "aldaba.token";
const QUIET_MS = 30000; // a status comes each second, and 20 s later while two daemons are silent
const AGAIN_MS = 2000;

export class Problem extends Error {
    constructor(status, detail) {
        super(detail);
        this.status = status;
    }
}

export function tokenGet() {
    return sessionStorage.getItem(TOKEN) || "";
}

export function tokenSet(token) {
    if (token)
        sessionStorage.setItem(TOKEN, token);
    else
        sessionStorage.removeItem(TOKEN);
}

async function send(method, path, body, signal) {
    const headers = {};
    if (tokenGet())
        headers.Authorization = `Bearer ${tokenGet()}`;
    if (body !== undefined)
        headers["Content-Type"] = "application/json";
    const text = body === undefined ? undefined : JSON.stringify(body);
    try {
        return await fetch(path, {method, headers, body: text, signal, cache: "no-store",
                                  credentials: "omit", redirect: "error"});
    } catch (error) {
        if (error.name === "AbortError")
            throw error;
        throw new Problem(0, "The gateway does not answer.");
    }
}

async function refused(answer) {
    let detail = "";
    try {
        detail = (await answer.json()).detail;
    } catch {
        /* no problem document: a proxy's page, or nothing */
    }
    return new Problem(answer.status, detail || `The gateway answered ${answer.status}.`);
}

/* The answer's JSON; null when there is none. */
export async function ask(method, path, body) {
    const answer = await send(method, path, body);
    if (!answer.ok)
        throw await refused(answer);
    const text = await answer.text();
    return text ? JSON.parse(text) : null;
}

/* The answer's bytes as text: numbers in it stay as they were written. */
export async function askText(path) {
    const answer = await send("GET", path);
    if (!answer.ok)
        throw await refused(answer);
    return answer.text();
}

/* "?a=1&b=2" of those that are set. */
export function query(values) {
    const pairs = Object.entries(values).filter(([, value]) => value !== "" && value != null);
    return pairs.length ? "?" + new URLSearchParams(pairs) : "";
}

/* Server-Sent Events, one a call of take. Ends when the stream does. */
async function stream(signal, take) {
    const answer = await send("GET", "/v1/watch", undefined, signal);
    if (!answer.ok)
        throw await refused(answer);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
        const {done, value} = await reader.read();
        if (done)
            return;
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) {
            const data = block.split("\n").find((line) => line.startsWith("data: "));
            if (data)
                take(JSON.parse(data.slice(6)));
        }
    }
}

/* Follow the status until the returned function is called. take(status) each second;
 * tell(word, detail, status): "live", "lost" (it is tried again; status: of the answer, if one refused
 * it) or "resting" (nobody looks at this tab). */
export function watch(take, tell) {
    let control = null;
    let timer = 0;
    let ended = false;

    async function run() {
        const own = control = new AbortController();
        const hush = () => own.abort(new Problem(0, `Nothing was heard for ${QUIET_MS / 1000} s.`));
        let quiet = setTimeout(hush, QUIET_MS);
        let lost = new Problem(0, "The stream ended.");
        try {
            await stream(own.signal, (status) => {
                clearTimeout(quiet);
                quiet = setTimeout(hush, QUIET_MS);
                tell("live", "");
                take(status);
            });
        } catch (error) {
            lost = error;
        }
        clearTimeout(quiet);
        control = null;
        if (ended || document.hidden)
            return;
        tell("lost", lost.message, lost.status);
        timer = setTimeout(run, AGAIN_MS);
    }

    function look() {
        clearTimeout(timer);
        if (document.hidden) {
            control?.abort();
            tell("resting", "");
        } else if (!control) {
            run();
        }
    }

    document.addEventListener("visibilitychange", look);
    look();
    return () => {
        ended = true;
        clearTimeout(timer);
        control?.abort();
        document.removeEventListener("visibilitychange", look);
    };
}
