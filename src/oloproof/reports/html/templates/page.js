"use strict";
// Shows what the page holds: the list of cases and one of them. Whatever was said by anyone is set as text.
(() => {
  const WORDS = { p: "pass", f: "fail", m: "missing", x: "excluded" };
  const SIGNS = { pass: "✓", fail: "✗", missing: "?", excluded: "–" };
  const AT_ONCE = 200;
  const LEFT_OUT = -1;
  const find = (id) => document.getElementById(id);
  const blocks = new Map();
  let index = null;
  let shown = [];
  let open = -1;
  let back = {};

  /** An element with attributes and children; strings among them become text. */
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  async function unpack(id) {
    const bytes = Uint8Array.from(atob(find(id).textContent), (sign) => sign.charCodeAt(0));
    const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(inflated).text());
  }

  function block(number) {
    if (!blocks.has(number)) blocks.set(number, unpack(`block-${number}`));
    return blocks.get(number);
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

  function choice(name, title, options) {
    const select = make("select", { name }, make("option", { value: "" }, "any"));
    for (const option of options) select.append(make("option", { value: option }, option));
    return make("label", {}, title, select);
  }

  function drawBrowser() {
    const form = make("form", { class: "filters", role: "search" });
    const values = index.slices.flatMap((name, at) => index.values[at].map((value) => `${name}=${value}`));
    form.append(
      choice("criterion", "criterion", index.criteria),
      choice("verdict", "verdict", Object.values(WORDS)),
      choice("slice", find("browser").dataset.groups, values),
      make("label", {}, "id or input", make("input", { type: "search", name: "text" })),
    );
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      history.replaceState(null, "", hash(Object.fromEntries(new FormData(form))) || "#");
      drawList();
    });
    const head = make("tr", {}, ...["case", "failed", "missing", "input"].map((name) => make("th", { scope: "col" }, name)));
    find("browser").append(
      form,
      make("p", { id: "count", role: "status" }),
      make("div", { class: "wide" }, make("table", { class: "list" }, make("thead", {}, head), make("tbody", { id: "list" }))),
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
    find("count").textContent = `${shown.length} of ${index.rows.length} attempts`;
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
        make("td", { class: "fail" }, failed ? `✗ ${failed}` : ""),
        make("td", { class: "missing" }, missing ? `? ${missing}` : ""),
        make("td", {}, preview)));
    }
    find("more").hidden = list.rows.length >= shown.length;
  }

  // --- one case ----------------------------------------------------------------------------------------------------

  function facts(items) {
    const rows = items.map(({ label, text }) => make("div", {}, make("dt", {}, label), make("dd", {}, text)));
    return make("dl", { class: "facts" }, ...rows);
  }

  function verdicts(view, diffs, at) {
    const body = make("tbody");
    for (const each of view.judgments) {
      const rows = diffs[each.criterion];
      const beside = rows
        ? [make("td", { colspan: "2" }, diffTable(rows, "expected", "found"))]
        : [make("td", {}, each.expected), make("td", {}, each.found)];
      body.append(make("tr", {},
        make("th", { scope: "row" }, each.criterion),
        make("td", { class: `state ${each.verdict}` }, `${SIGNS[each.verdict]} ${each.verdict}`),
        make("td", {}, each.reason),
        make("td", {}, ...stepLinks(each.steps, at)),
        ...beside));
    }
    const names = ["criterion", "verdict", "reason", "steps", "expected", "found"];
    const head = make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)));
    return make("div", { class: "wide" }, make("table", {}, make("thead", {}, head), body));
  }

  function table(columns, rows) {
    const head = make("tr", {}, ...columns.map((name) => make("th", { scope: "col" }, name)));
    const lines = rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell))));
    return make("div", { class: "wide" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...lines)));
  }

  /** "2, 4–6" with each number a link to its step. */
  function stepLinks(text, at) {
    const parts = text.split(/(\d+)/);
    return parts.map((part) => (/^\d+$/.test(part) ? make("a", { href: link(at, part) }, part) : part));
  }

  function diffTable(rows, left, right) {
    const table = make("table", { class: "diff" });
    table.append(make("thead", {}, make("tr", {}, make("td"), ...[left, right].map((name) => make("th", { scope: "col" }, name)))));
    const signs = { same: " ", changed: "≠", expected: "−", found: "+" };
    const body = make("tbody");
    for (const [kind, old, now] of rows) {
      const differs = kind === "same" ? {} : { class: "differs" };
      body.append(make("tr", differs, make("td", {}, signs[kind]), make("td", {}, old), make("td", {}, now)));
    }
    table.append(body);
    return table;
  }

  function stepBox(step) {
    const offends = step.offends.length > 0;
    const box = make("section", { class: offends ? "step offends" : "step", id: `step-${step.number}`, tabindex: "-1" });
    box.append(make("h3", {}, `${step.number}. ${step.action}`));
    if (offends) box.append(make("p", { class: "fail" }, `✗ fails ${step.offends.join(", ")}`));
    if (step.failed) box.append(make("p", { class: "fail" }, "! error"));
    for (const { label, text } of step.details) {
      const fold = make("details", {}, make("summary", {}, `${label}: ${text.length > 80 ? text.slice(0, 80) + "…" : text}`));
      if (text.length > 80) fold.append(make("pre", {}, text));
      box.append(text.length > 80 ? fold : make("p", {}, `${label}: ${text}`));
      if (offends) fold.open = true;
    }
    return box;
  }

  /** Steps that belong beside one another: calls of one agent's turn. */
  function groups(steps) {
    const found = [];
    for (const step of steps) {
      const last = found.at(-1)?.at(-1);
      const together = last && step.left_out === 0 && step.turn !== null && last.turn === step.turn &&
        last.agent === step.agent && last.kind === step.kind && step.kind.startsWith("tool_");
      if (together) found.at(-1).push(step);
      else found.push([step]);
    }
    return found;
  }

  function timeline(view) {
    const agents = [...new Set(view.steps.flatMap((step) => (step.to ? [step.agent, step.to] : [step.agent])))];
    const columns = `repeat(${agents.length}, minmax(0, 1fr))`;
    const list = make("ol", { class: "timeline" });
    const line = (...children) => {
      const item = make("li", {}, ...children);
      item.style.gridTemplateColumns = columns;
      list.append(item);
      return item;
    };
    const across = (element) => { element.style.gridColumn = "1 / -1"; return element; };
    if (agents.length > 1) line(...agents.map((agent) => make("span", {}, agent))).className = "lanes";
    for (const group of groups(view.steps)) {
      const [first] = group;
      const lane = agents.indexOf(first.agent) + 1;
      if (first.left_out) line(across(make("p", { class: "gap" }, `… ${first.left_out} steps are not shown …`)));
      const place = group.length > 1 ? make("div", { class: "beside", role: "group", "aria-label": "in one turn" }) : stepBox(first);
      if (group.length > 1) place.append(...group.map(stepBox));
      place.style.gridColumn = String(lane);
      line(place);
      if (first.to) {
        const target = agents.indexOf(first.to) + 1;
        const forward = target > lane;
        const arrow = make("p", { class: "arrow" }, forward ? `${first.agent} ⟶ ${first.to}` : `${first.to} ⟵ ${first.agent}`);
        arrow.style.gridColumn = `${Math.min(lane, target)} / ${Math.max(lane, target) + 1}`;
        line(arrow);
      }
    }
    if (view.cut) line(across(make("p", { class: "cut" }, `✂ ${view.cut}`)));
    return list;
  }

  function heading(at) {
    const listed = shown.indexOf(at);
    const step = (to, name) => (to === undefined ? null : make("a", { href: link(to) }, name));
    const nav = make("nav", { class: "nav", "aria-label": "cases" }, make("a", { href: hash(back), id: "back" }, "← all cases"),
      step(shown[listed - 1], "previous case"), listed < 0 ? null : step(shown[listed + 1], "next case"));
    return [nav, make("h1", {}, row(at).name)];
  }

  async function drawCase(at, step) {
    const article = find("case");
    const { id, number, place, letters } = row(at);
    if (open !== at) {
      article.replaceChildren(...heading(at));
      if (number < 0) {
        const verdictList = index.criteria.map((name, which) => ({ label: name, text: WORDS[letters[which]] }));
        const why = number === LEFT_OUT ? "The steps are left out so that this file stays small; " +
          `${article.dataset.inspect} --case shows them.` : "The recorded file that holds the steps is not what it was.";
        article.append(make("p", {}, why), facts(verdictList));
      } else {
        const { view, diffs, calls } = (await block(number))[place];
        if (target() !== at) return;
        const titled = (name, ...children) => make("section", {}, make("h2", {}, name), ...children);
        article.append(facts(view.facts), titled("Verdicts", verdicts(view, diffs, at)));
        if (calls.length) article.append(titled("Calls of both runs", diffTable(calls, "baseline", "candidate")));
        for (const each of view.alignments) article.append(titled(each.title, table(each.columns, each.rows)));
        article.append(titled("Steps", make("p", {}, view.trajectory), timeline(view)));
        if (view.constraints.length) {
          article.append(titled("Constraints", make("ul", {}, ...view.constraints.map((text) => make("li", {}, text)))));
        }
        for (const { title, lines } of view.blocks) article.append(titled(title, make("pre", {}, lines.join("\n"))));
      }
      open = at;
    }
    document.title = id;
    goTo(article, step);
  }

  function goTo(article, step) {
    for (const box of article.querySelectorAll(".here")) box.classList.remove("here");
    const box = step === null ? null : find(`step-${step}`);
    if (box !== null) box.classList.add("here");
    (box ?? article).focus({ preventScroll: true });
    (box ?? article).scrollIntoView({ block: box ? "center" : "start" });
  }

  // --- where we are ------------------------------------------------------------------------------------------------

  const title = document.title;

  function target() {
    const state = read();
    if (!state.has("case")) return -1;
    const at = state.has("row") ? Number(state.get("row")) : index.first.get(`${state.get("trial") ?? 1} ${state.get("case")}`);
    return Number.isInteger(at) && at >= 0 && at < index.rows.length ? at : -1;
  }

  async function navigate() {
    if (location.hash === "#top") return; // the skip link; it names no place of ours
    const at = target();
    const step = read().get("step");
    find("report").hidden = at >= 0;
    find("case").hidden = at < 0;
    if (at >= 0) {
      await drawCase(at, step !== null && /^\d+$/.test(step) ? step : null);
      return;
    }
    document.title = title;
    open = -1;
    if (read().has("case")) find("count").textContent = "There is no such case in this file.";
    else drawList();
    if (location.hash.length > 1) find("cases").scrollIntoView();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const listed = shown.indexOf(open);
    const offending = [...find("case").querySelectorAll(".offends")];
    const here = offending.findIndex((box) => box.classList.contains("here"));
    if (event.key === "/" && open < 0) find("browser").querySelector("[name=text]").focus();
    else if (event.key === "Escape" && open >= 0) location.hash = hash(back);
    else if (event.key === "j" && shown[listed + 1] !== undefined) location.hash = link(shown[listed + 1]);
    else if (event.key === "k" && listed > 0) location.hash = link(shown[listed - 1]);
    else if (event.key === "o" && offending.length) location.hash = link(open, offending[(here + 1) % offending.length].id.slice(5));
    else return;
    event.preventDefault();
  }

  async function start() {
    if (find("index") === null) return;
    index = await unpack("index");
    index.first = new Map();
    index.rows.forEach(([id, trial], at) => {
      if (!index.first.has(`${trial} ${id}`)) index.first.set(`${trial} ${id}`, at);
    });
    drawBrowser();
    find("browser").hidden = false;
    drawList();
    addEventListener("hashchange", navigate);
    document.addEventListener("keydown", onKey);
    await navigate();
    document.documentElement.dataset.ready = "true";
  }

  start();
})();
