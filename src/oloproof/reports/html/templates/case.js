"use strict";
// Draws a case. Whatever was said by anyone is set as text.
const find = (id) => document.getElementById(id);

/** An element with attributes and children; strings among them become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A place for what may be wider than the window, which the keyboard can scroll. */
function wide(name, child) {
  return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": name }, child);
}

/** A table of rows which are there; where there is no room for columns, each cell below the first says which it is of. */
function stacked(columns, rows) {
  for (const { cells } of rows) [...cells].slice(1).forEach((cell, at) => { cell.dataset.name = columns[at + 1]; });
  const head = make("tr", {}, ...columns.map((column) => make("th", { scope: "col" }, column)));
  return make("table", { class: "stacked" }, make("thead", {}, head), make("tbody", {}, ...rows));
}

/** The text, or where it is long its start, which opens to the whole; `name` stands before it. */
function folded(text, most, name = "") {
  if (text.length <= most) return document.createTextNode(`${name}${text}`);
  const start = text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
  const summary = make("summary", {}, name || make("span", { class: "opened" }, "in full"), make("span", { class: "start" }, `${start}…`));
  return make("details", {}, summary, make("pre", {}, text));
}

/** The parts of a case; `link` gives the address of a step of the case in a row. */
function drawing(link) {
  const LONG = 240;
  const LINE = 80;
  const MOST_ROWS = 20;
  const SIGNS = { pass: "✓", fail: "✗", missing: "?", excluded: "–" };

  function facts(items) {
    const rows = items.map(({ label, text }) => make("div", {}, make("dt", {}, label), make("dd", {}, text)));
    return make("dl", { class: "facts" }, ...rows);
  }

  function verdicts(view, diffs, at) {
    const lines = [];
    for (const each of view.judgments) {
      const rows = diffs[each.criterion];
      const beside = rows
        ? [make("td", { colspan: "2" }, diffTable(rows, "expected", "found"))]
        : [each.expected, each.found].map((text) => make("td", { class: "content" }, folded(text, LONG)));
      lines.push(make("tr", {},
        make("th", { scope: "row" }, each.criterion),
        make("td", { class: `state ${each.verdict}` }, `${SIGNS[each.verdict]} ${each.verdict}`),
        make("td", { class: "reason" }, each.reason),
        make("td", {}, ...stepLinks(each.steps, at)),
        ...beside));
    }
    const names = ["criterion", "verdict", "reason", "steps", "expected", "found"];
    return wide("Verdicts", stacked(names, lines));
  }

  /** Folded where it would stand between the reader and the steps. */
  function table(name, columns, rows) {
    const lines = rows.map(([first, ...cells]) =>
      make("tr", {}, make("th", { scope: "row" }, first), ...cells.map((cell) => make("td", {}, cell))));
    const drawn = wide(name, stacked(columns, lines));
    return rows.length > MOST_ROWS ? make("details", {}, make("summary", {}, `${rows.length.toLocaleString("en")} rows`), drawn) : drawn;
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

  /** `by`: its agent is named, since there are several; a lane tells it only to who sees it. */
  function stepBox(step, by) {
    const offends = step.offends.length > 0;
    const box = make("section", { class: offends ? "step offends" : "step", id: `step-${step.number}`, tabindex: "-1" });
    box.append(make("h3", {}, `${step.number}. ${step.action}`));
    if (by) box.append(make("p", { class: "by" }, `by ${step.agent}`));
    if (offends) box.append(make("p", { class: "fail" }, `✗ fails ${step.offends.join(", ")}`));
    if (step.failed) box.append(make("p", { class: "fail" }, "! error"));
    for (const { label, text } of step.details) {
      const told = folded(text, LINE, `${label}: `);
      if (offends) told.open = true;
      box.append(told instanceof Text ? make("p", {}, told) : told);
    }
    return box;
  }

  /** Steps that belong beside one another: calls of one agent's turn. */
  function groups(steps) {
    const found = [];
    for (const step of steps) {
      const last = found.at(-1)?.at(-1);
      const together = last && !step.left_out && step.turn !== undefined && last.turn === step.turn &&
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
    const several = agents.length > 1;
    if (several) line(...agents.map((agent) => make("span", {}, agent))).className = "lanes";
    for (const group of groups(view.steps)) {
      const [first] = group;
      const lane = agents.indexOf(first.agent) + 1;
      if (first.left_out) line(across(make("p", { class: "gap" }, `… ${first.left_out.toLocaleString("en")} steps are not shown …`)));
      const place = group.length > 1 ? make("div", { class: "beside", role: "group", "aria-label": "in one turn" }) : stepBox(first, several);
      if (group.length > 1) place.append(...group.map((step) => stepBox(step, several)));
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

  return { facts, verdicts, table, diffTable, timeline };
}
