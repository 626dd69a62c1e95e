// SPDX-License-Identifier: GPL-3.0-or-later
// What the pages share.  All names and sources are untrusted: they become text nodes and nothing else.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const by_id = id => document.getElementById(id);

// An element with attributes and children, which are elements or texts.
function make(tag, attributes, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (name.startsWith("on"))
			e.addEventListener(name.slice(2), value);
		else if (value !== null && value !== undefined && value !== false)
			e.setAttribute(name, value === true ? "" : value);
	}
	e.append(...children.filter(c => c !== null && c !== undefined));
	return e;
}

function draw(tag, attributes, ...children) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (name.startsWith("on"))
			e.addEventListener(name.slice(2), value);
		else
			e.setAttribute(name, value);
	}
	e.append(...children);
	return e;
}

// ---- numbers, as the text report has them ----

const known = x => typeof x === "number" && isFinite(x);

// Of an interval, to sort by: an open one is the widest.
const width = (lo, hi) => !known(lo) ? null : known(hi) ? hi - lo : Number.MAX_VALUE;

function si(x) {
	if (!known(x))
		return "-";
	const units = ["", "k", "M", "G", "T", "P", "E"];
	let a = Math.abs(x), unit = 0;
	while (a >= (unit ? 999.95 : 999.5) && unit + 1 < units.length) {
		a /= 1000;
		unit++;
	}
	return (x < 0 ? "-" : "") + (unit ? a.toFixed(a < 9.9995 ? 3 : a < 99.995 ? 2 : 1) + units[unit] : a.toFixed(0));
}

const mean = x => !known(x) ? "-" : Math.abs(x) < 999.95 ? x.toFixed(Math.abs(x) < 9.9995 ? 3 : Math.abs(x) < 99.995 ? 2 : 1) : si(x);
const percent = x => !known(x) ? "-" : (100 * x).toFixed(Math.abs(x) < 0.09995 ? 2 : 1) + "%";
const ratio = x => known(x) ? x.toFixed(2) : "-";
const range = (lo, hi, show) => known(lo) && known(hi) ? show(lo) + ".." + show(hi) : known(lo) ? show(lo) + ".." : "-";
const base = path => path ? path.replace(/.*\//, "") : "";

// ---- names ----

// "a<b<c>>::f<d>" with what stands deeper in arguments of templates than that left out.  "operator<" and "->" open and close none,
// and brackets as in "main()::<lambda(int)>" and "<T as Trait>" go or stay with what is around them.
function fold_arguments(name, deepest) {
	const open = [];
	let out = "", depth = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i], before = name.slice(0, i);
		if (c === "<" && !/\boperator<?$/.test(before)) {
			const argument = /[\w)]$/.test(before);
			open.push(argument);
			if (argument && depth++ === deepest)
				out += "<\u2026>";
		} else if (c === ">" && open.length && !before.endsWith("-")) {
			if (open.pop() && --depth === deepest)
				continue;
		}
		if (depth <= deepest)
			out += c;
	}
	return open.length ? name : out;
}

// "<a::b::T as c::Trait>::f" -> "<T as Trait>::f"
const drop_scopes = name => name.replace(/(^<|::<impl |<impl | as )(?:[\w{}]+::)+/g, "$1");

// What two lines of a table hold.
const longest_name = 60;

// What tells functions apart stands at the end of their names: of what is still too long the middle goes.
function short_name(name, besides = 0) {
	const longest = longest_name - besides;
	for (const shorten of [n => fold_arguments(n, 2), n => fold_arguments(n, 1), drop_scopes, n => fold_arguments(n, 0)])
		if (name.length > longest)
			name = shorten(name);
	const head = Math.floor(longest * 0.35);
	return name.length > longest ? name.slice(0, head) + "\u2026" + name.slice(head + 1 - longest) : name;
}

// In one line of so many letters: without scopes, for a function is known by the last of its names.
function tail_name(name, letters) {
	name = name.length > letters ? drop_scopes(fold_arguments(name, 0)) : name;
	for (let cut; name.length > letters && (cut = /^[\w{}~]+(?:<\u2026>)?::(?=.)/.exec(name));)
		name = name.slice(cut[0].length);
	return name;
}

// What each name of a column is shown as: in short, and numbered, in the order of the names, where two would be shown alike.
function labels(names, shorten) {
	const label = new Map(), alike = new Map();
	for (const name of [...new Set(names)].sort()) {
		const short = shorten(name);
		alike.set(short, [...(alike.get(short) ?? []), name]);
	}
	for (const [short, all] of alike)
		all.forEach((name, i) => label.set(name, all.length > 1 ? `${short} #${i + 1}` : short));
	return label;
}

// Two lines at most, of which none ends within the tail; all of it when the pointer is on it.
const fitted = (name, label, more, tail = "") => make("div", { class: "fit", title: name + tail + (more ? "\n" + more : "") }, label,
	...(tail ? [" ", make("span", { class: "tail" }, tail.trim())] : []));

// ---- a table that sorts by a click and filters by a word ----

function table(all_columns, rows, options) {
	// What no row has is no column.
	const columns = all_columns.filter((c, i) => i === options.by || rows.some(r => c.text ? c.value(r) : known(c.value(r))));
	const body = make("tbody");
	const is_name = (c, r) => c.class && c.class(r) === "name text" && !c.show;
	const label = new Map(columns.filter(c => rows.length && is_name(c, rows[0])).map(c => [c, labels(rows.map(r => c.value(r)), n => short_name(n))]));
	let by = columns.indexOf(all_columns[options.by]), down = true, word = "";
	// What is seen at once, and what is there for who scrolls: the rest of a table is made once the page is shown.
	const first = 60, limit = 500;

	const row = r => make("tr", {}, ...columns.map(c => {
		const cell = c.show ? c.show(c.value(r), r) : String(c.value(r) ?? "-");
		const style = c.class ? c.class(r) : c.text ? "text" : null;
		return make("td", { class: style }, label.has(c) && label.get(c).has(c.value(r)) ? fitted(cell, label.get(c).get(c.value(r))) : cell);
	}));

	function fill() {
		const column = columns[by];
		mark();
		const wanted = rows.filter(r => !word || columns.some(c => c.text && String(c.value(r) ?? "").toLowerCase().includes(word)));
		const keyed = wanted.map(r => {
			const v = column.value(r);
			return { r, key: known(v) ? v : column.text ? String(v ?? "") : -Infinity };
		});
		keyed.sort((x, y) => (x.key < y.key ? -1 : x.key > y.key ? 1 : 0) * (down ? -1 : 1));
		const made = keyed.slice(0, first).map(k => row(k.r));
		body.replaceChildren(...made);
		setTimeout(() => {
			// Sorted or filtered anew since: that has its own rest.
			if (made.length && made[0].parentNode !== body)
				return;
			body.append(...keyed.slice(first, limit).map(k => row(k.r)));
			if (wanted.length > limit)
				body.append(make("tr", {}, make("td", { colspan: columns.length, class: "text" },
					`${wanted.length - limit} more: filter by a word`)));
		});
	}
	const head = make("tr", {}, ...columns.map((c, i) => make("th", {
		class: c.text ? "text" : null, title: c.title, onclick: () => {
			down = by === i ? !down : !c.text;
			by = i;
			fill();
		}
	}, c.head)));

	// What it is sorted by, and which way.
	function mark() {
		[...head.cells].forEach((th, i) => {
			if (i === by)
				th.setAttribute("aria-sort", down ? "descending" : "ascending");
			else
				th.removeAttribute("aria-sort");
		});
	}
	fill();
	return make("div", { class: "wide" },
		options.filter ? make("input", {
			type: "search", placeholder: "filter", "aria-label": "filter", oninput: e => {
				word = e.target.value.toLowerCase();
				fill();
			}
		}) : null,
		make("table", {}, make("thead", {}, head), body));
}

// ---- what the pointer is on ----

const tip = by_id("tip");

function tell(event, text) {
	tip.textContent = text;
	tip.hidden = false;
	tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 10) + "px";
	tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 10) + "px";
}

// ---- tabs ----

// sections: id -> [title, function that makes its elements]; shown(id) comes after each is.
function tabs(sections, shown) {
	const made = new Set();

	function select(id) {
		for (const b of by_id("tabs").children)
			b.setAttribute("aria-selected", String(b.dataset.tab === id));
		for (const s of by_id("main").children)
			s.hidden = s.id !== "tab-" + id;
		if (!made.has(id)) {
			made.add(id);
			by_id("tab-" + id).append(...sections[id][1]());
		}
		if (shown)
			shown(id);
	}
	for (const [id, [name]] of Object.entries(sections)) {
		by_id("tabs").append(make("button", { role: "tab", "data-tab": id, onclick: () => select(id) }, name));
		by_id("main").append(make("section", { id: "tab-" + id, hidden: true }));
	}
	return select;
}

// The title, what was recorded, and what speaks against the numbers.
function heading(title, facts, doubts) {
	document.title = `${title} - skidprof`;
	by_id("title").textContent = title;
	by_id("head-facts").append(...facts.map(f => make("p", { class: "fact" }, f)), ...doubts.map(d => make("p", { class: "doubt" }, d)));
}

function first_tab(sections) {
	const asked = location.hash.slice(1);
	return Object.hasOwn(sections, asked) ? asked : Object.keys(sections)[0];
}
