"use strict";
// Shows what the page holds, or what the server that sent it is asked for: the list of cases and one of them. Whatever
// was said by anyone is set as text.
(() => {
  const WORDS = { p: "pass", f: "fail", m: "missing", x: "excluded" };
  const AT_ONCE = 200;
  const FAR = 2000;
  const LEFT_OUT = -1;
  const UNREADABLE = -2;
  const SERVED = -3;
  const NONE = -1;
  const blocks = new Map();
  let index = null;
  let shown = [];
  let open = NONE; // the case that is drawn whole; `target()` is the one that is wanted
  let back = {};
  let ended = false;

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(inflated).text());
  }

  function block(number) {
    if (!blocks.has(number)) blocks.set(number, unpack(find(`block-${number}`).textContent));
    return blocks.get(number);
  }

  async function ask(what) {
    let answer;
    try {
      answer = await fetch(`${find("case").dataset.source}/${what}`);
    } catch {
      throw new Error("The server does not answer.");
    }
    if (!answer.ok) throw new Error(await answer.text());
    return answer;
  }

  /** What is known of the case in this row. */
  async function known(at) {
    const { id, trial, number, place } = row(at);
    if (number !== SERVED) return (await block(number))[place];
    return (await ask(`case?${new URLSearchParams({ id: place || id, trial })}`)).json();
  }

  async function load() {
    const packed = find("index");
    index = await unpack(packed === null ? await (await ask("index")).text() : packed.textContent);
    index.first = new Map();
    index.rows.forEach(([id, trial], at) => {
      if (!index.first.has(`${trial} ${id}`)) index.first.set(`${trial} ${id}`, at);
    });
  }

  const read = () => new URLSearchParams(location.hash.slice(1));
  function hash(values) {
    const parts = Object.entries(values).filter(([, value]) => value !== "" && value !== undefined);
    return "#" + parts.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  }

  function row(at) {
    const [id, trial, letters, places, number, place, preview] = index.rows[at];
    return { id, trial, letters, places, number, place, preview, name: trial === 1 ? id : `${id} · trial ${trial}` };
  }

  function link(at, step) {
    const { id, trial } = row(at);
    const twin = index.first.get(`${trial} ${id}`) === at ? undefined : at;
    return hash({ case: id, trial: trial === 1 ? undefined : trial, row: twin, step });
  }

  const { facts, verdicts, table, diffTable, timeline } = drawing(link);

  // --- the list ----------------------------------------------------------------------------------------------------

  function filters() {
    const state = read();
    const chosen = { criterion: state.get("criterion") ?? "", verdict: state.get("verdict") ?? "" };
    return { ...chosen, slice: state.get("slice") ?? "", text: state.get("text") ?? "" };
  }

  function matching({ criterion, verdict, slice, text }) {
    const column = index.criteria.indexOf(criterion);
    const letter = Object.keys(WORDS).find((each) => WORDS[each] === verdict);
    const [which, value] = slice === "" ? [] : split(slice);
    const wanted = text.toLowerCase();
    const found = [];
    for (let at = 0; at < index.rows.length; at += 1) {
      const [id, , letters, places, , , preview] = index.rows[at];
      const seen = column < 0 ? letters : letters[column];
      if (letter !== undefined && !seen.includes(letter)) continue;
      if (letter === undefined && column >= 0 && seen === "x") continue;
      if (which !== undefined && places[which] !== value) continue;
      if (wanted && !id.toLowerCase().includes(wanted) && !preview.toLowerCase().includes(wanted)) continue;
      found.push(at);
    }
    return found;
  }

  /** The slice and the value that an option of the filter means, as their places. */
  function split(option) {
    const at = index.slices.findIndex((name, which) =>
      option.startsWith(`${name}=`) && index.values[which].includes(option.slice(name.length + 1)));
    return at < 0 ? [] : [at, index.values[at].indexOf(option.slice(index.slices[at].length + 1))];
  }

  function fill(select, options) {
    if (select.options.length === options.length + 1) return;
    select.replaceChildren(...["", ...options].map((option) => make("option", { value: option }, option || "any")));
  }

  function choice(name, title, options) {
    const select = make("select", { name });
    fill(select, options);
    return make("label", {}, title, select);
  }

  const groups = () => index.slices.flatMap((name, at) => index.values[at].map((value) => `${name}=${value}`));

  function drawBrowser() {
    const form = make("form", { class: "filters", role: "search" });
    form.append(
      choice("criterion", "criterion", index.criteria),
      choice("verdict", "verdict", Object.values(WORDS)),
      choice("slice", find("browser").dataset.groups, groups()),
      make("label", {}, "id or input", make("input", { type: "search", name: "text" })),
      make("button", { type: "reset", id: "clear" }, "Clear"),
    );
    form.addEventListener("reset", (event) => {
      event.preventDefault(); // to what the page had at first, which may be any
      history.replaceState(null, "", "#");
      drawList();
      form.querySelector("[name=text]").focus();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      history.replaceState(null, "", hash(Object.fromEntries(new FormData(form))) || "#");
      drawList();
    });
    const head = make("tr", {}, ...["case", "failed", "missing", "input"].map((name) => make("th", { scope: "col" }, name)));
    find("browser").append(
      form,
      make("p", { id: "count", role: "status" }),
      wide("Cases", make("table", { class: "list stacked" }, make("thead", {}, head), make("tbody", { id: "list" }))),
      make("button", { type: "button", id: "more" }, "Show more"),
    );
    find("more").addEventListener("click", () => drawRows(find("list").rows.length + AT_ONCE));
  }

  function drawList() {
    const state = filters();
    for (const [name, value] of Object.entries(state)) {
      const field = find("browser").querySelector(`[name=${name}]`);
      if (field.value !== value) field.value = value;
    }
    back = state;
    shown = matching(state);
    const none = shown.length || !index.rows.length ? "" : ": none is like that";
    find("count").textContent = `${shown.length.toLocaleString("en")} of ${index.rows.length.toLocaleString("en")} attempts${none}`;
    find("clear").hidden = Object.values(state).every((value) => value === "");
    find("list").closest(".wide").hidden = !shown.length;
    find("list").replaceChildren();
    drawRows(AT_ONCE);
  }

  function drawRows(count) {
    const list = find("list");
    for (const at of shown.slice(list.rows.length, count)) {
      const { name, letters, preview } = row(at);
      const named = (letter) => index.criteria.filter((_, which) => letters[which] === letter).join(", ");
      const [failed, missing] = [named("f"), named("m")];
      list.append(make("tr", {},
        make("td", {}, make("a", { href: link(at) }, name)),
        make("td", { class: "fail" }, failed ? `✗\u00a0${failed}` : ""),
        make("td", { class: "missing" }, missing ? `?\u00a0${missing}` : ""),
        make("td", { class: "content" }, preview)));
    }
    find("more").hidden = list.rows.length >= shown.length;
  }

  // --- one case ----------------------------------------------------------------------------------------------------

  function heading(at) {
    const listed = shown.indexOf(at);
    const all = Object.values(back).every((value) => !value) ? "← all cases" : "← filtered cases";
    const step = (to, name) => (to === undefined ? make("span", { class: "none" }, name) : make("a", { href: link(to) }, name));
    const beside = listed < 0 ? [] : [step(shown[listed - 1], "previous case"), step(shown[listed + 1], "next case"),
      make("span", {}, `${(listed + 1).toLocaleString("en")} of ${shown.length.toLocaleString("en")}`)];
    const nav = make("nav", { class: "nav", "aria-label": "cases" }, make("a", { href: hash(back), id: "back" }, all), ...beside);
    return [nav, make("h1", {}, row(at).name)];
  }

  async function drawCase(at) {
    const article = find("case");
    if (open !== at) {
      open = NONE;
      article.replaceChildren(...heading(at));
      const parts = await described(at, article.dataset.inspect);
      if (target() !== at) return; // the reader has gone on
      if (open !== at) { // gone on and back: it was drawn meanwhile
        article.append(...parts);
        const first = article.querySelector(".offends");
        if (first) article.firstChild.append(make("a", { href: link(at, first.id.slice(5)), id: "offence" }, "first offending step"));
      }
      open = at;
    }
    document.title = row(at).id;
    goTo(article);
  }

  /** What stands below the heading of the case in this row. */
  async function described(at, inspect) {
    const { number, letters } = row(at);
    if (number === LEFT_OUT || number === UNREADABLE) {
      const verdictList = index.criteria.map((name, which) => ({ label: name, text: WORDS[letters[which]] }));
      const why = number === LEFT_OUT ? "The steps are left out so that this file stays small; " +
        `${inspect} --case shows them.` : "The recorded file that holds the steps is not what it was.";
      return [make("p", {}, why), facts(verdictList)];
    }
    const { view, diffs, calls } = await known(at);
    const titled = (name, ...children) => make("section", {}, make("h2", {}, name), ...children);
    const parts = [facts(view.facts), titled("Verdicts", verdicts(view, diffs, at))];
    if (calls.length) parts.push(titled("Calls of both runs", wide("Calls of both runs", diffTable(calls, "baseline", "candidate"))));
    for (const each of view.alignments) parts.push(titled(each.title, table(each.title, each.columns, each.rows)));
    parts.push(titled("Steps", make("p", {}, view.trajectory), timeline(view)));
    if (view.constraints.length) {
      parts.push(titled("Constraints", make("ul", {}, ...view.constraints.map((text) => make("li", {}, text)))));
    }
    for (const { title, lines } of view.blocks) parts.push(titled(title, make("pre", {}, lines.join("\n"))));
    return parts;
  }

  function goTo(article) {
    const step = read().get("step");
    for (const box of article.querySelectorAll(".here")) box.classList.remove("here");
    const box = /^\d+$/.test(step ?? "") ? find(`step-${step}`) : null;
    if (box !== null) box.classList.add("here");
    (box ?? article).focus({ preventScroll: true });
    (box ?? article).scrollIntoView({ block: box ? "center" : "start" });
  }

  // --- where we are ------------------------------------------------------------------------------------------------

  const title = document.title;

  function target() {
    const state = read();
    if (!state.has("case")) return NONE;
    const at = state.has("row") ? Number(state.get("row")) : index.first.get(`${state.get("trial") ?? 1} ${state.get("case")}`);
    return Number.isInteger(at) && at >= 0 && at < index.rows.length ? at : NONE;
  }

  async function navigate() {
    if (location.hash === "#top") return; // the skip link; it names no place of ours
    const at = target();
    find("report").hidden = at >= 0;
    find("case").hidden = at < 0;
    if (at >= 0) {
      try {
        await drawCase(at);
      } catch (error) {
        if (target() !== at || open === at) return;
        open = at;
        find("case").append(make("pre", { role: "alert" }, error.message));
      }
      return;
    }
    if (ended) location.reload();
    document.title = title;
    const last = open;
    open = NONE;
    if (read().has("case")) find("count").textContent = `There is no such case in this ${find("case").dataset.source ? "run" : "file"}.`;
    else drawList();
    if (!returned(last) && location.hash.length > 1) {
      find("cases").focus({ preventScroll: true });
      find("cases").scrollIntoView();
    }
  }

  /** Whoever comes from a case finds the place in the list where it stands, unless the list would have to grow long. */
  function returned(last) {
    const listed = last === NONE ? NONE : shown.indexOf(last);
    if (listed < 0 || listed >= FAR) return false;
    drawRows(Math.ceil((listed + 1) / AT_ONCE) * AT_ONCE);
    const place = find("list").rows[listed].querySelector("a");
    place.focus({ preventScroll: true });
    place.scrollIntoView({ block: "center" });
    return true;
  }

  /** The cases that the tables of the report name lead to what is known of them. */
  function linkCases() {
    for (const cell of document.querySelectorAll("[data-case]")) {
      const at = index.first.get(`1 ${cell.dataset.case}`);
      if (at !== undefined) cell.replaceChildren(make("a", { href: link(at) }, cell.dataset.case));
    }
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const at = target();
    const listed = shown.indexOf(at);
    if (event.key === "/" && at < 0) find("browser").querySelector("[name=text]").focus();
    else if (event.key === "Escape" && at >= 0) location.hash = hash(back);
    else if (event.key === "j" && shown[listed + 1] !== undefined) location.hash = link(shown[listed + 1]);
    else if (event.key === "k" && listed > 0) location.hash = link(shown[listed - 1]);
    else if (event.key === "o" && at >= 0) nextOffence(at);
    else return;
    event.preventDefault();
  }

  /** Go to the next step that offends, once the case is drawn. */
  async function nextOffence(at) {
    if (open !== at) await navigate();
    if (target() !== at) return;
    const offending = [...find("case").querySelectorAll(".offends")];
    const here = offending.findIndex((box) => box.classList.contains("here"));
    if (offending.length) location.hash = link(at, offending[(here + 1) % offending.length].id.slice(5));
  }

  // --- a run that goes on ------------------------------------------------------------------------------------------

  function drawCounts(rows) {
    const names = [...find("counts").parentElement.tHead.rows[0].cells].map((cell) => cell.textContent);
    find("counts").replaceChildren(...rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, name),
      ...cells.map((cell, at) => make("td", { "data-name": names[at + 1] }, cell)))));
  }

  const live = {
    async progress({ told, counts }) {
      find("told").textContent = told;
      drawCounts(counts);
      const drawn = find("list").rows.length;
      await load();
      fill(find("browser").querySelector("[name=slice]"), groups());
      if (target() < 0) {
        drawList();
        drawRows(drawn);
      } else {
        const isDrawn = open !== NONE;
        open = isDrawn ? target() : NONE;
        shown = matching(back);
        if (!isDrawn) await navigate(); // its row may have moved while it was read
      }
    },
    ended() {
      ended = true; // whoever reads a case goes on reading
      if (target() < 0) location.reload();
    },
  };

  // --- on paper ----------------------------------------------------------------------------------------------------

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const fold of folded) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of folded) fold.open = false; });

  async function start() {
    const { source, follow: goesOn } = find("case")?.dataset ?? {};
    if (find("index") === null && source === undefined) return;
    try {
      await load();
    } catch (error) {
      find("cases").append(make("pre", { role: "alert" }, error.message));
      return;
    }
    drawBrowser();
    linkCases();
    find("browser").hidden = false;
    drawList();
    addEventListener("hashchange", navigate);
    document.addEventListener("keydown", onKey);
    await navigate();
    document.documentElement.dataset.ready = "true";
    if (goesOn !== undefined) follow(source, live);
  }

  start();
})();
