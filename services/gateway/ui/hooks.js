/* What the views share: what was asked, what is being done, who does it. */
import {createContext, useContext, useEffect, useReducer, useRef, useState}
    from "./htm-preact-3.1.1.js";
import {ask} from "./api.js";

/* {status, live, why, points, access, by, say}: of the page as a whole; see app.js. */
export const Page = createContext(null);

export const usePage = () => useContext(Page);

/* What path answers, asked again every everyMs while somebody looks, and by again(). everyMs: a number, 0
 * is never, or a function that says it of the value. path null: nothing is asked. The value stays while it
 * is asked again; a problem stands beside it. */
export function useAsk(path, everyMs, how = (asked) => ask("GET", asked)) {
    const [state, set] = useState({path: null, value: null, problem: null});
    const [round, again] = useReducer((n) => n + 1, 0);
    const busy = useRef(null);
    const current = state.path === path ? state : {value: null, problem: null};
    const everyNowMs = typeof everyMs === "function" ? everyMs(current.value) : everyMs;
    useEffect(() => {
        if (!path)
            return undefined;
        let wanted = true;
        busy.current = path;
        const done = (change) => {
            if (busy.current === path)
                busy.current = null;
            if (wanted)
                set((old) => ({path, value: old.path === path ? old.value : null, problem: null,
                               ...change}));
        };
        how(path).then((value) => done({value}), (problem) => done({problem}));
        return () => {
            wanted = false;
        };
    }, [path, round]);
    useEffect(() => {
        if (!everyNowMs || !path)
            return undefined;
        const timer = setInterval(() => {
            if (!document.hidden && busy.current !== path)
                again();
        }, everyNowMs);
        return () => clearInterval(timer);
    }, [path, everyNowMs]);
    return {value: current.value, problem: current.problem, again};
}

/* [run, busy]: run(work, said) does work, an async function, once at a time, and says what came of it. */
export function useDoing() {
    const {say} = usePage();
    const [busy, set] = useState(false);
    const run = async (work, said) => {
        set(true);
        try {
            const value = await work();
            if (said)
                say(said);
            return value;
        } catch (problem) {
            say(problem.message, true);
            return undefined;
        } finally {
            set(false);
        }
    };
    return [run, busy];
}

/* A word of an address; what somebody typed and is no encoding stands for itself. */
function decoded(word) {
    try {
        return decodeURIComponent(word);
    } catch {
        return word;
    }
}

/* The words behind "#": {path: ["letters", ID], query: {reason: ...}}. */
export function readRoute(hash = location.hash) {
    const [path, search] = hash.replace(/^#\/?/, "").split("?");
    return {path: path.split("/").filter(Boolean).map(decoded),
            query: Object.fromEntries(new URLSearchParams(search || ""))};
}
