/* Numbers and times as people read them. */

const UNITS = [["d", 86400000], ["h", 3600000], ["min", 60000], ["s", 1000]];

export function count(number) {
    return number == null ? "–" : Number(number).toLocaleString("en");
}

/* "3 min 5 s": the two largest units; what is shorter than a second in milliseconds. */
export function duration(ms) {
    if (ms == null)
        return "–";
    if (ms < 1000)
        return `${Math.max(0, Math.round(ms))} ms`;
    const parts = [];
    let rest = ms;
    for (const [name, size] of UNITS) {
        const whole = Math.floor(rest / size);
        if (whole > 0 && parts.length < 2)
            parts.push(`${whole} ${name}`);
        else if (parts.length > 0)
            break;
        rest -= whole * size;
    }
    return parts.join(" ");
}

export function ago(ms, now = Date.now()) {
    if (ms == null)
        return "–";
    const away = now - ms;
    if (Math.abs(away) < 1000)
        return "now";
    return away > 0 ? `${duration(away)} ago` : `in ${duration(-away)}`;
}

const pad = (number, digits = 2) => String(number).padStart(digits, "0");

/* Of this browser's time zone: "2026-11-30 18:45:07.123". */
export function moment(ms) {
    const at = new Date(ms);
    return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ` +
        `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}` +
        `.${pad(at.getMilliseconds(), 3)}`;
}

export function rate(number) {
    if (number == null)
        return "–";
    return number >= 100 ? Math.round(number).toLocaleString("en") : number.toFixed(1);
}

/* The beginning of text: at most so many bytes of UTF-8, in which the API counts. */
export function cut(text, bytes) {
    const begin = new TextEncoder().encode(text).subarray(0, bytes);
    return new TextDecoder().decode(begin, {stream: true}); // without half a character at its end
}

const tokens = (text) => text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s[\]{},:"]+/g);

/* The text of what an object, itself given as text, has under a name, as it was written: a number of
 * twenty digits stays one. name is plain letters. null: it has none. */
export function member(text, name) {
    let depth = 0;
    let named = false; // at what stands under it
    let last = "";
    let begin = -1;
    for (const {0: token, index} of tokens(text)) {
        if (begin >= 0 && depth === 1 && (token === "," || token === "}"))
            return text.slice(begin, index).trimEnd();
        if (named && begin < 0)
            begin = index;
        if (depth === 1 && token === ":" && last === `"${name}"`)
            named = true;
        if (token === "{" || token === "[")
            depth++;
        else if (token === "}" || token === "]")
            depth--;
        last = token;
    }
    return null;
}

/* JSON laid out over lines, without reading its numbers. Linear: a result may have megabytes. */
export function layOut(text) {
    const out = [];
    let depth = 0;
    let opened = false; // by the token before
    const line = () => "\n" + "  ".repeat(Math.max(0, depth));
    for (const [token] of tokens(text)) {
        const closes = token === "}" || token === "]";
        if (closes)
            depth--;
        if (token === ",")
            out.push(token, line());
        else if (token === ":")
            out.push(": ");
        else if (closes !== opened) // what is empty stays on its line
            out.push(line(), token);
        else
            out.push(token);
        opened = token === "{" || token === "[";
        if (opened)
            depth++;
    }
    return out.join("");
}
