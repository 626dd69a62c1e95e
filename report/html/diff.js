// SPDX-License-Identifier: GPL-3.0-or-later
// The page of what differs between two sides.

const measures = { instructions: ["instructions", si], cycles: ["cycles", si], ipc: ["IPC", ratio], executions: ["executions", si], events: ["events", si] };
const has = Object.keys(measures).filter(m => known(data.all[m + "_difference"]) || (m === "executions" && data.functions.some(r => known(r[m + "_difference"]))));
const signed = x => (x > 0 ? "+" : "") + percent(x);
const shown = { measure: has.includes(data.by) ? data.by : has[0], only: false };

const value = (r, what) => r[shown.measure + what];
const word = r => r[shown.measure] || "";

function change(r) {
	if (value(r, "_before") === 0 && value(r, "_after") > 0)
		return "new";
	if (value(r, "_before") > 0 && value(r, "_after") === 0)
		return "gone";
	return known(value(r, "_change")) ? signed(value(r, "_change")) : "-";
}

// More of what costs is bad, and so is less of IPC.
function verdict_class(r) {
	const more = shown.measure === "ipc" ? "good" : "bad", fewer = shown.measure === "ipc" ? "bad" : "good";
	return { more, fewer }[word(r)] || "raw";
}

// The interval of the change around nothing, all rows of a table on one scale.
function bar(r, most) {
	const width = 120, x = v => width / 2 * (1 + Math.max(-1, Math.min(1, v / most)));
	const lo = value(r, "_change_lo"), hi = value(r, "_change_hi"), at = value(r, "_change");
	const svg = draw("svg", { width, height: 14, role: "img", class: "bar " + verdict_class(r) }, draw("line", { x1: width / 2, x2: width / 2, y1: 0, y2: 14, class: "axis" }));
	if (known(lo) && known(hi)) {
		svg.append(draw("line", { x1: x(lo), x2: Math.max(x(hi), x(lo) + 1), y1: 7, y2: 7, class: "interval" }), draw("circle", { cx: x(at), cy: 7, r: 3 }));
		svg.addEventListener("mousemove", e => tell(e, `${r.function}\n${signed(at)}, 90% interval ${range(lo, hi, signed)}\nbars end at ${percent(most)}`));
		svg.addEventListener("mouseleave", () => { tip.hidden = true; });
	}
	return svg;
}

const name_of = r => r.function + (r.function_before ? ` (was ${r.function_before})` : "");

function rows_table(rows, lines) {
	const show = measures[shown.measure][1];
	const sizes = rows.map(r => Math.abs(value(r, "_change"))).filter(known).sort((a, b) => a - b);
	const most = Math.max(sizes[Math.floor(sizes.length * 0.9)] || 0, 0.01);
	const word_of = m => ({ head: measures[m][0], text: true, value: r => r[m] || "", class: r => "text " + (m === shown.measure ? verdict_class(r) : "raw") });
	// What is sure to differ comes first, and the largest functions first in each.
	const by_share = [...rows].sort((x, y) => y.share - x.share);
	const columns = [
		{ head: "share", value: r => r.share, show: percent, title: "of the side where it has more" },
		...(lines ? [{ head: "line", text: true, value: r => r.file ? `${base(r.file)}:${r.line ?? "?"}${known(r.line_before) ? ` (was ${r.line_before})` : ""}` : "", class: () => "text small" }] : []),
		{ head: "function", text: true, value: name_of, class: () => "name text" },
		word_of(shown.measure),
		{ head: "before", value: r => value(r, "_before"), show },
		{ head: "after", value: r => value(r, "_after"), show },
		{ head: "difference", value: r => Math.abs(value(r, "_difference")), show: (_, r) => show(value(r, "_difference")), title: "sorted by its size" },
		{ head: "change", value: r => value(r, "_change"), show: (_, r) => change(r) },
		{ head: "90% interval", value: r => width(value(r, "_change_lo"), value(r, "_change_hi")), show: (_, r) => range(value(r, "_change_lo"), value(r, "_change_hi"), signed) },
		{ head: "", value: r => value(r, "_change"), show: (_, r) => bar(r, most) },
		...has.filter(m => m !== shown.measure).map(word_of),
		...(rows.some(r => r.status) ? [{ head: "status", text: true, value: r => r.status || "", class: r => "text " + (r.status || "") }] : []),
		{ head: "module", text: true, value: r => r.module, class: () => "text small wrap" },
	];
	return table(columns, shown.only ? by_share.filter(r => r[shown.measure] && ["more", "fewer"].includes(word(r))) : by_share, { by: columns.findIndex(c => c.head === measures[shown.measure][0]), filter: true });
}

function rows_section(rows, lines) {
	const place = make("div");
	const fill = () => place.replaceChildren(rows_table(rows, lines));
	const buttons = has.map(m => make("button", {
		"aria-pressed": String(m === shown.measure), onclick: e => {
			shown.measure = m;
			for (const b of buttons)
				b.setAttribute("aria-pressed", String(b === e.target));
			fill();
		}
	}, measures[m][0]));
	const only = make("input", { type: "checkbox", onchange: e => { shown.only = e.target.checked; fill(); } });
	fill();
	return [make("span", { class: "switch" }, ...buttons), make("label", {}, only, " only what is sure to differ"), place];
}

// The whole program: one row a measure.
function whole() {
	const cells = m => {
		const r = data.all, show = measures[m][1], old = shown.measure;
		shown.measure = m;
		const row = make("tr", {}, make("td", { class: "text" }, measures[m][0]), make("td", {}, show(value(r, "_before"))), make("td", {}, show(value(r, "_after"))),
			make("td", {}, change(r)), make("td", {}, range(value(r, "_change_lo"), value(r, "_change_hi"), signed)), make("td", { class: "text " + verdict_class(r) }, word(r)));
		shown.measure = old;
		return row;
	};
	return make("table", {}, make("thead", {}, make("tr", {}, ...["the whole program", "before", "after", "change", "90% interval", ""].map((h, i) =>
		make("th", { class: i === 0 || i === 5 ? "text" : null }, h)))), make("tbody", {}, ...has.filter(m => known(data.all[m + "_difference"])).map(cells)));
}

const sections = { functions: ["Functions", () => [whole(), ...rows_section(data.functions, false)]],
	...(data.lines.length ? { lines: ["Lines", () => rows_section(data.lines, true)] } : {}),
	facts: ["Recordings", () => data.facts.map(l => make("p", { class: "fact" }, l))] };
const select = tabs(sections, null);

heading(data.title, data.heads, data.doubts);
select(first_tab(sections));
