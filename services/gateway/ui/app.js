/* The frame of the page: where one is, whether it is live, who one is, and what was said. */
import {html, render, useEffect, useLayoutEffect, useMemo, useRef, useState} from "./htm-preact-3.1.1.js";
import {ask, tokenGet, tokenSet, watch} from "./api.js";
import {pointsAdd} from "./chart.js";
import {count, cut} from "./format.js";
import {Page, readRoute, usePage} from "./hooks.js";
import {Letter} from "./letter.js";
import {Letters} from "./letters.js";
import {Actions, Consumers, Providers} from "./others.js";
import {Overview} from "./overview.js";
import {Dialog, Said, State} from "./parts.js";
import {Replay, Replays} from "./replays.js";
import {Task, Tasks} from "./tasks.js";

const NAME = "aldaba.by";
const THEME = "aldaba.theme";
const NAME_BYTES = 32; // the API takes
const SAID_MS = 8000;

/* path[0] -> how the view is called and made; of: of one thing of it. */
const VIEWS = {
    "": {title: "Overview", view: (page) => html`<${Overview} theme=${page.theme} />`},
    tasks: {title: "Tasks", view: (page) => html`<${Tasks} filter=${page.route.query} />`,
            one: "Task", of: (page, id) => html`<${Task} key=${id} id=${id} />`},
    letters: {title: "Dead letters", view: (page) => html`<${Letters} filter=${page.route.query} />`,
              one: "Dead letter", of: (page, id) => html`<${Letter} key=${id} id=${id}
                  revision=${page.route.query.revision} />`},
    replays: {title: "Bulk replays", view: () => html`<${Replays} />`, hidden: true,
              one: "Bulk replay", of: (page, id) => html`<${Replay} key=${id} id=${id} />`},
    providers: {title: "Providers", view: () => html`<${Providers} />`},
    consumers: {title: "Consumers", view: () => html`<${Consumers} />`},
    actions: {title: "What people did", view: () => html`<${Actions} />`},
};

function useRoute() {
    const [route, set] = useState(readRoute());
    useEffect(() => {
        const look = () => set(readRoute());
        addEventListener("hashchange", look);
        return () => removeEventListener("hashchange", look);
    }, []);
    return route;
}

function useTheme() {
    const [theme, set] = useState(localStorage.getItem(THEME) || "");
    useLayoutEffect(() => { // before the chart, in an effect of its own, asks for its colours
        if (theme)
            document.documentElement.dataset.theme = theme;
        else
            delete document.documentElement.dataset.theme;
        localStorage.setItem(THEME, theme);
    }, [theme]);
    return [theme, set];
}

/* The status of now, and the rates that the ones before it make. refused() when our token is not taken
 * any more. */
function useLive(access, refused) {
    const [state, set] = useState({status: null, live: "", why: "", points: []});
    useEffect(() => {
        if (!access?.read)
            return undefined;
        return watch(
            (status) => set((old) => ({...old, status,
                                       points: pointsAdd(old.points, status, Date.now())})),
            (live, why, status) => {
                set((old) => ({...old, live, why}));
                if (status === 401)
                    refused();
            });
    }, [access]);
    return state;
}

/* What was done is said, and goes away; what went wrong stays until it is closed. */
function useSaid() {
    const [said, set] = useState([]);
    const next = useRef(0);
    const close = (id) => set((old) => old.filter((one) => one.id !== id));
    const say = (text, wrong = false) => {
        const id = next.current++;
        set((old) => [...old.slice(-4), {id, text, wrong}]);
        if (!wrong)
            setTimeout(() => close(id), SAID_MS);
    };
    return [said, say, close];
}

/* ---- the frame ---- */

function Live() {
    const {access, live, why} = usePage();
    if (!access?.read)
        return null;
    const words = {live: ["live", "good", "New figures each second."],
                   lost: ["not live", "bad", why], resting: ["resting", "rest", "The tab is hidden."]};
    const [word, kind, text] = words[live] || ["connecting", "wait", ""];
    return html`<span class="live" title=${text} data-live=${live}><${State} word=${word} kind=${kind} />
        ${live === "lost" && html`<span class="soft" role="status">${why} It is tried again.</span>`}</span>`;
}

function Nav({route}) {
    const {status} = usePage();
    const letters = status?.dlq ? status.dlq.open + status.dlq.held : 0;
    const here = route.path[0] === "replays" ? "letters" : route.path[0] || "";
    return html`<nav aria-label="Views"><ul>${Object.entries(VIEWS).filter(([, view]) => !view.hidden)
        .map(([name, view]) => html`<li key=${name}><a href=${`#/${name}`}
            aria-current=${here === name ? "page" : undefined}>${view.title}
            ${name === "letters" && letters > 0 && html` <span class="badge">${count(letters)}</span>`}
            </a></li>`)}</ul></nav>`;
}

function Settings({by, setBy, theme, setTheme, onToken, onClose}) {
    const {access} = usePage();
    const [name, setName] = useState(by);
    const [token, setToken] = useState(tokenGet());
    const save = (event) => {
        event.preventDefault();
        setBy(name.trim());
        if (token.trim() !== tokenGet())
            onToken(token.trim());
        onClose();
    };
    return html`<${Dialog} title="You and this page" onClose=${onClose}><form onSubmit=${save}>
        <label class="stacked">Your name, for the record of what people did
            <input value=${name} maxlength="32" onInput=${(e) => setName(e.target.value)} /></label>
        ${access?.tokens && html`<label class="stacked">Token, kept until this tab is closed
            <input type="password" autocomplete="off" value=${token}
                onInput=${(e) => setToken(e.target.value)} /></label>`}
        <label class="stacked">Colours <select value=${theme}
            onChange=${(e) => setTheme(e.target.value)}><option value="">as the system has them</option>
            <option value="light">light</option><option value="dark">dark</option></select></label>
        <p class="buttons"><button type="submit" class="main">Save</button>
            <button type="button" onClick=${onClose}>Close</button></p></form></${Dialog}>`;
}

function Door({onToken}) {
    const [token, set] = useState("");
    const wrong = tokenGet() !== "";
    const enter = (event) => {
        event.preventDefault();
        onToken(token.trim());
    };
    return html`<form class="door" onSubmit=${enter}><p>This gateway asks for a token: one of
        ${" "}<code>gateway.tokens</code>, or of <code>gateway.read_tokens</code> to look only.</p>
        ${wrong && html`<p class="trouble" role="alert">The gateway does not know this token.</p>`}
        <label class="stacked">Token <input type="password" autocomplete="off" value=${token}
            onInput=${(e) => set(e.target.value)} /></label>
        <button type="submit" class="main" disabled=${!/^[!-~]+$/.test(token.trim())}>Enter</button></form>`;
}

function Head({route}) {
    const [name, id] = route.path;
    const view = VIEWS[name || ""];
    const title = !view ? "Nothing here" : id && view.one ? `${view.one} ${id}` : view.title;
    const heading = useRef(null);
    const first = useRef(true);
    useLayoutEffect(() => { // with the view, before anybody can put the focus into it
        document.title = `${title} · aldaba`;
        if (!first.current)
            heading.current.focus({preventScroll: false});
        first.current = false;
    }, [title]);
    return html`<h1 ref=${heading} tabindex="-1">${title}</h1>`;
}

function Body({route, theme}) {
    const [name, id] = route.path;
    const view = VIEWS[name || ""];
    if (!view || (id && !view.of))
        return html`<p>There is no such view. <a href="#/">Overview</a></p>`;
    return id ? view.of({route, theme}, id) : view.view({route, theme});
}

function App() {
    const route = useRoute();
    const [theme, setTheme] = useTheme();
    const [access, setAccess] = useState(null);
    const [by, setBy] = useState(localStorage.getItem(NAME) || "dashboard");
    const [open, setOpen] = useState(false);
    const [said, say, close] = useSaid();
    const look = () => ask("GET", "/v1/access").then(setAccess, (problem) => say(problem.message, true));
    const live = useLive(access, () => ask("GET", "/v1/access").then(
        (now) => now.read || setAccess(now), () => { /* nobody answers, which is said already */ }));
    useEffect(() => { look(); }, []);
    const onToken = (token) => {
        tokenSet(token);
        look();
    };
    const keepBy = (name) => {
        const kept = cut(name, NAME_BYTES) || "dashboard";
        localStorage.setItem(NAME, kept);
        setBy(kept);
    };
    const [dialogs, setDialogs] = useState(0);
    const dialog = (more) => setDialogs((count) => count + more);
    const page = useMemo(() => ({...live, access, by, say, said, close, dialog}), [live, access, by, said]);
    return html`<${Page.Provider} value=${page}>
        <a class="skip" href="#content" onClick=${(event) => {
            event.preventDefault();
            document.querySelector("h1").focus();
        }}>To the content</a>
        <header><a class="brand" href="#/">aldaba</a>
            ${access?.read && html`<${Nav} route=${route} />`}
            <div class="tools"><${Live} />
                ${access?.read && !access.change && html`<span class="state rest">read only</span>`}
                <button type="button" class="small" onClick=${() => setOpen(true)}>${by}…</button></div>
        </header>
        <main id="content"><${Head} route=${route} />
            ${access && !access.read && html`<${Door} key=${tokenGet()} onToken=${onToken} />`}
            ${access?.read && html`<${Body} route=${route} theme=${theme} />`}
            ${!access && html`<p class="empty">Asking the gateway…</p>`}</main>
        ${dialogs === 0 && html`<${Said} />`}
        ${open && html`<${Settings} by=${by} setBy=${keepBy} theme=${theme} setTheme=${setTheme}
            onToken=${onToken} onClose=${() => setOpen(false)} />`}
        </${Page.Provider}>`;
}

render(html`<${App} />`, document.body);
