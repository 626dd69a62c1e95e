// SPDX-License-Identifier: GPL-3.0-or-later
// The page of one profile.

// ---- functions ----

// What tells functions of one name apart is in full_name, where there are several.
const full_name = f => f.full_name ?? f.name ?? f.function;
const code_of = new Map((data.annotations || []).map((a, i) => [a.module + "\n" + full_name(a), i]));

// What is inlined has its source where it has most of its instructions, or cycles; overloads are declared at different lines.
const inlined_in = new Map();
const inlined_key = (module, name, line) => `${module}\n${name}\n${line ?? ""}`;

function find_inlined(lines, module, at) {
	for (const l of lines || []) {
		const weight = (l.fixed || 0) + (l.cycles || 0);
		for (const key of l.function === undefined ? [] : [inlined_key(module, l.function, l.line), inlined_key(module, l.function)])
			if (!(inlined_in.get(key)?.weight >= weight))
				inlined_in.set(key, { at, weight });
		find_inlined(l.lines, module, at);
		find_inlined(l.inlined, module, at);
	}
}
(data.annotations || []).forEach((a, i) => find_inlined(a.lines, a.module, i));

function name_cell(name, row) {
	const at = code_of.get(row.module + "\n" + name) ?? inlined_in.get(inlined_key(row.module, row.name, row.full_name && row.line))?.at;
	const tail = row.inlined ? " (inlined)" : "";
	return at === undefined ? fitted(name, function_label.get(name), "", tail)
		: make("span", { class: "go", onclick: () => { select("code"); show_code(at); } }, fitted(name, function_label.get(name), "source and assembly", tail));
}

const function_label = labels(data.functions.map(full_name), name => short_name(name, " (inlined)".length));

// "f<...> (file.c:1)": beside the function that a row is of there is room for the end of a name, and its place.
function short_region(name) {
	const [, f, place] = /^(.*)( \([^()]*\).*)$/.exec(name) ?? [name, name, ""];
	return tail_name(f, 24) + place;
}
const region_label = labels(data.functions.map(f => f.region || ""), short_region);

// As other reports call it.
const evidence = known_by => (known_by || "").split(",").map(w => ({ mix: "totals", path: "branches", trips: "bounds" }[w] || w)).join(", ");

function functions() {
	const has_insn = data.functions.some(f => known(f.fixed));
	const columns = [
		{ head: "share", value: f => f.share, show: percent },
		{ head: "status", text: true, value: f => f.status, class: f => "text " + f.status, show: (s, f) => make("span", { title: f.why || "" }, s) },
		{ head: "function", text: true, value: full_name, class: () => "name text", show: name_cell },
		...(has_insn ? [
			{ head: "raw", value: f => f.raw, show: si, title: "instructions, where samples were seen" },
			{ head: "fixed", value: f => f.fixed, show: si, title: "instructions, corrected for skid" },
			{ head: "90% interval", value: f => width(f.lo, f.hi), show: (_, f) => range(f.lo, f.hi, si) }] : []),
		{ head: "cycles", value: f => f.cycles, show: si },
		...(data.functions.some(f => known(f.cycles)) ? [] : [{ head: "events", value: f => f.events, show: (x, f) => (f.events_rough ? "~" : "") + si(x) }]),
		...(has_insn ? [{ head: "IPC raw", value: f => f.ipc_raw, show: ratio }, { head: "IPC", value: f => f.ipc_fixed, show: ratio },
			{ head: "calls", value: f => f.calls, show: si },
			{ head: "insns/\u200bcall", value: f => f.insn_per_call, show: mean },
			{ head: "cycles/\u200bcall", value: f => f.cycles_per_call, show: mean }] : [
			{ head: "in region", value: f => f.region_share, show: percent },
			{ head: "90% interval", value: f => width(f.region_share_lo, f.region_share_hi),
				show: (_, f) => range(f.region_share_lo, f.region_share_hi, percent) },
			{ head: "CPI/region", value: f => f.cpi_relative,
				show: (x, f) => x > (f.cpi_relative_hi - f.cpi_relative_lo) / 2 ? ratio(x) : "-" },
			...(data.functions.some(f => f.region) ? [{ head: "region", text: true, value: f => f.region || "", class: () => "text small wrap",
				show: name => make("span", { title: name }, region_label.get(name)) }] : [])]),
		{ head: "module", text: true, value: f => f.module, class: () => "text small module", show: m => make("span", { title: m }, m) },
		{ head: "evidence", text: true, value: f => evidence(f.known_by), class: () => "text small" },
	];
	return table(columns, data.functions, { by: 0, filter: true });
}

// ---- flame graph ----

const flame = { measure: data.flame.has_insn ? "fixed" : "cycles", zoom: 0, word: "" };

// Frames have [parent, function, raw, fixed, cycles, guess]; children come after their parents.
function flame_sums() {
	const at = { raw: 2, fixed: 3, cycles: 4 }[flame.measure], frames = data.flame.frames;
	const sum = frames.map(f => f[at]);
	for (let i = frames.length - 1; i > 0; i--)
		sum[frames[i][0]] += sum[i];
	return sum;
}

function colour(name) {
	let h = 0;
	for (const c of name)
		h = (h * 31 + c.codePointAt(0)) >>> 0;
	return `hsl(${18 + h % 40} ${75 + h % 17}% ${62 + h % 13}%)`;
}

// Where no cycles are known the counts are of what was sampled instead.
const cycles_word = data.flame.has_insn || data.functions.some(f => known(f.cycles)) ? "cycles" : "events";
// What is no function's.
const frame_names = { "-1": "all", "-2": "[callers not known]", "-3": "[callees, each too small to be seen]", "-4": "[inlined, where no sample fell]" };
const frame_name = f => data.flame.functions[f[1]]?.name ?? frame_names[f[1]];

function flame_tip(i, sum) {
	const f = data.flame.frames[i], fn = data.flame.functions[f[1]] || { name: frame_name(f) };
	const lines = [fn.name + (fn.module ? "  (" + fn.module + ")" : ""),
		`${percent(sum[i] / sum[0])} of all: ${si(sum[i])} ${flame.measure === "cycles" ? cycles_word : "instructions, " + flame.measure}`];
	if (known(fn.fixed))
		lines.push(`the function by itself: raw ${si(fn.raw)}, fixed ${si(fn.fixed)}` + (known(fn.lo) ? ` (90%: ${si(fn.lo)}..${si(fn.hi)})` : ""));
	if (fn.status)
		lines.push(`status: ${fn.status}`);
	if (f[5] && f[1] === -2)
		lines.push("What no call is known of, or calls that lead in a circle.");
	else if (f[5])
		lines.push("Its callers are several: it is divided among them as they call it, which may be wrong.");
	return lines.join("\n");
}

function draw_flame() {
	const box = by_id("flame-graph"), frames = data.flame.frames, sum = flame_sums();
	const width = box.clientWidth || 1000, row = 18, least = 0.4, letter = 6.7;
	const kids = frames.map(() => []);
	for (let i = 1; i < frames.length; i++)
		kids[frames[i][0]].push(i);
	const path = [];
	for (let i = flame.zoom; ; i = frames[i][0]) {
		path.unshift(i);
		if (i === 0)
			break;
	}
	const cells = [];
	let deepest = 0, found = 0;
	function place(i, x, w, depth) {
		const name = frame_name(frames[i]);
		const hit = flame.word && name.toLowerCase().includes(flame.word);
		const cell = make("div", {
			class: [frames[i][5] ? "guess" : "", hit ? "found" : ""].join(" ").trim() || null,
			onmousemove: e => tell(e, flame_tip(i, sum)), onmouseleave: () => { tip.hidden = true; },
			onclick: () => { flame.zoom = i; tip.hidden = true; draw_flame(); }
		}, w > 30 ? tail_name(name, w / letter) : "");
		cell.style.left = x + "px";
		cell.style.width = Math.max(w, 1) + "px";
		cell.style.top = depth * row + "px";
		cell.style.backgroundColor = frames[i][1] >= 0 ? colour(name) : "#c9ced6";
		cells.push(cell);
		deepest = Math.max(deepest, depth);
		found += hit ? 1 : 0;
	}
	function below(i, x, w, depth) {
		let left = x;
		for (const k of kids[i].filter(c => sum[c] > 0).sort((a, b) => sum[b] - sum[a])) {
			const wide = w * sum[k] / sum[i];
			if (wide >= least) {
				place(k, left, wide, depth);
				below(k, left, wide, depth + 1);
			}
			left += wide;
		}
	}
	path.forEach((i, depth) => place(i, 0, width, depth));
	below(flame.zoom, 0, width, path.length);
	box.replaceChildren(...cells);
	box.style.height = (deepest + 1) * row + "px";
	by_id("flame-note").textContent = flame.word ? `${found} frames with "${flame.word}"` : data.flame.note;
}

function flame_section() {
	const words = data.flame.has_insn ? ["raw", "fixed", "cycles"] : ["cycles"];
	const buttons = words.map(w => make("button", {
		"aria-pressed": String(w === flame.measure), onclick: e => {
			flame.measure = w;
			for (const b of buttons)
				b.setAttribute("aria-pressed", String(b === e.target));
			draw_flame();
		}
	}, w === "cycles" ? cycles_word : w));
	return [make("span", { class: "switch" }, ...buttons),
		make("span", { class: "switch" }, make("button", { onclick: () => { flame.zoom = 0; draw_flame(); } }, "whole")),
		make("input", { type: "search", placeholder: "find", "aria-label": "find", oninput: e => { flame.word = e.target.value.toLowerCase(); draw_flame(); } }),
		make("p", { class: "fact", id: "flame-note" }), make("div", { id: "flame-graph" })];
}

// ---- source and assembly ----

const heat = share => share >= 0.1 ? "hot" : share >= 0.02 ? "warm" : known(share) && share >= 0.005 ? "" : "cold";

// Instructions that were not counted, but corrected within regions: a line's share of them is not that of the cycles.
const shares_insn = !data.flame.has_insn && (data.functions || []).some(f => known(f.region_share));

function count_cells(r) {
	const none = !(r.fixed > 0) && !(r.cycles > 0) && !(r.share_insn > 0);
	const t = (x, style) => make("td", { class: style }, none ? "" : x);
	const counted = data.flame.has_insn ? [t(known(r.executed) ? si(r.executed) : ""), t(si(r.raw), "less"), t(si(r.fixed)), t(range(r.lo, r.hi, si), "less")] : [];
	if (shares_insn)
		return [t(known(r.share_insn) ? percent(r.share_insn) : ""), t(percent(r.share)), t(si(r.cycles))];
	return [t(percent(r.share)), ...counted, t(si(r.cycles)), ...(data.flame.has_insn ? [t(known(r.cpi) ? ratio(r.cpi) : "")] : [])];
}

// On a narrow screen the text has its room.
const less = new Set(["raw", "90% interval"]);

const code_head = data.flame.has_insn ? ["share", "executed", "raw", "fixed", "90% interval", "cycles", "CPI"]
	: shares_insn ? ["% insn", "% cycles", "cycles"] : [data.flame.of_time ? "share of time" : "share", cycles_word];

// A row without counts.
function text_row(style, ...text) {
	const hidden = code_head.filter(h => less.has(h)).length;
	return make("tr", { class: style }, make("td", { colspan: code_head.length + 1 - hidden }),
		hidden ? make("td", { class: "less", colspan: hidden }) : null, make("td", { class: "name text" }, ...text));
}

function trips_text(l) {
	const turns = known(l.iterations) ? `, ${si(l.iterations)} iterations` : "";
	return known(l.trips) ? `loop: ${mean(l.trips)} trips (${range(l.trips_lo, l.trips_hi, mean)})${turns}`
		: `loop${turns}, how often it is entered is not known`;
}

function source_rows(lines, depth, out) {
	for (const l of lines) {
		const pad = "  ".repeat(depth);
		if (l.function !== undefined) {
			out.push(make("tr", { class: heat(l.share) }, ...count_cells(l), make("td", {}, ""),
				make("td", { class: "name text" }, `${pad}> ${l.function}, inlined${l.file ? " from " + base(l.file) : ""}`)));
			source_rows(l.lines || [], depth, out);
			continue;
		}
		out.push(make("tr", { class: heat(l.share) }, ...count_cells(l), make("td", {}, l.line ? String(l.line) : ""),
			make("td", { class: "name text" }, pad + (l.text ?? `(${base(l.file) || "no line"})`))));
		source_rows(l.inlined || [], depth + 1, out);
	}
}

function assembly_rows(a, out) {
	const heads = new Map(a.loops.map(l => [l.header, l]));
	let place = "";
	if (!a.instructions)
		out.push(text_row("note", "its assembly has no room in this page: skidprof annotate --asm"));
	for (const i of a.instructions || []) {
		const here = i.file ? `${base(i.file)}:${i.line ?? "?"}${i.inlined.length ? "  [" + i.inlined[i.inlined.length - 1] + "]" : ""}` : "";
		if (heads.has(i.vaddr))
			out.push(text_row("note", trips_text(heads.get(i.vaddr))));
		if (here !== place && here)
			out.push(text_row("cold", here));
		place = here;
		const notes = [i.goes_to ? "-> " + i.goes_to : "", known(i.taken) && i.fixed > 0 ? `taken ${percent(i.taken)} (${range(i.taken_lo, i.taken_hi, percent)})` : "",
			i.note || ""].filter(n => n).join("  ");
		out.push(make("tr", { class: heat(i.share) }, ...count_cells(i), make("td", {}, i.vaddr.replace(/^0x/, "")),
			make("td", { class: "name text" }, `  ${i.text ?? "?"}${notes ? "    " + notes : ""}`)));
	}
}

// Rows that cost nothing, but for a few around those that do, are one row that holds them until it is clicked.
const around_hot = 2, least_folded = 5;

function fold_cold(rows) {
	const hot = rows.map(r => !/cold/.test(r.className)), out = [];
	for (let i = 0, end; i < rows.length; i = end) {
		const near = k => hot.slice(Math.max(k - around_hot, 0), k + around_hot + 1).some(h => h);
		end = i + 1;
		if (near(i)) {
			out.push(rows[i]);
			continue;
		}
		while (end < rows.length && !near(end))
			end++;
		const held = rows.slice(i, end);
		if (held.length < least_folded)
			out.push(...held);
		else
			out.push(text_row("note", make("span", { class: "go", onclick: e => e.currentTarget.closest("tr").replaceWith(...held) }, `${held.length} cold lines`)));
	}
	return hot.some(h => h) ? out : rows;
}

// The row with the largest share; a line, not what is inlined around it, where both have as much.
function hottest(body) {
	const share = row => parseFloat(row.cells[shares_insn ? 1 : 0].textContent) || 0;
	return [...body.rows].reduce((best, row) => !best || share(row) >= share(best) ? row : best, null);
}

function show_code(at) {
	const a = data.annotations[at], rows = [], asm = [];
	by_id("code-pick").value = String(at);
	source_rows(a.lines || [], 0, rows);
	assembly_rows(a, asm);
	// Without lines the assembly is what there is to see.
	const first = asm.length && !(a.lines || []).some(l => known(l.line)) ? "assembly" : "source";
	const views = [["source", fold_cold(rows)], ["assembly", fold_cold(asm)]].filter(([, r]) => r.length);
	const body = make("tbody", {}, ...(views.find(([word]) => word === first) || views[0] || [, []])[1]);
	const buttons = views.map(([word, r]) => make("button", {
		"aria-pressed": String(word === first || views.length === 1), onclick: e => {
			for (const b of buttons)
				b.setAttribute("aria-pressed", String(b === e.target));
			body.replaceChildren(...r);
		}
	}, word));
	by_id("code-body").replaceChildren(
		make("h2", {}, full_name(a)), make("p", { class: "fact" },
			`${a.file ? base(a.file) + (known(a.line) ? ":" + a.line : "") + ", " : ""}in ${a.module}; ${a.status}` + (known(a.calls) ? `; called ${si(a.calls)} times (${range(a.calls_lo, a.calls_hi, si)})` : "")),
		a.note ? make("p", { class: "doubt" }, a.note) : "", a.trouble ? make("p", { class: "doubt" }, a.trouble) : "",
		...a.loops.filter(l => known(l.trips)).map(l => make("p", { class: "fact" }, `${"  ".repeat(l.depth - 1)}${l.header}: ${trips_text(l)}`)),
		make("span", { class: "switch" }, ...buttons),
		make("span", { class: "switch" }, make("button", { onclick: () => hottest(body)?.scrollIntoView({ block: "center" }) }, "to the hottest")),
		make("div", { class: "wide" }, make("table", { class: "code" }, make("thead", {}, make("tr", {}, ...code_head.map(h => make("th", { class: less.has(h) ? "less" : null }, h)),
			make("th", {}, "line"), make("th", { class: "text" }, ""))), body)));
}

function code_section() {
	const pick = make("select", { id: "code-pick", "aria-label": "function", onchange: e => show_code(Number(e.target.value)) },
		...data.annotations.map((a, i) => make("option", { value: i }, `${percent(a.of_all)}  ${full_name(a)}`)));
	return [pick, make("div", { id: "code-body" })];
}

// ---- regions: blocks in the order of their addresses, ways as arcs beside them ----

function region_graph(g) {
	const row = 30, left = 330, box = 330, most = Math.max(...g.blocks.map(b => b.n || 0), 1);
	const svg = draw("svg", { width: left + box + 330, height: g.blocks.length * row + 20, role: "img" });
	g.ways.filter(w => !(w.n === 0)).forEach(w => {
		const y1 = w.from * row + 21, y2 = w.to * row + 9, back = w.to <= w.from;
		const x = back ? left : left + box, reach = Math.min(30 + Math.abs(w.to - w.from) * 16, 300) * (back ? -1 : 1);
		svg.append(draw("path", {
			d: `M${x} ${y1} C${x + reach} ${y1} ${x + reach} ${y2} ${x} ${y2}`, fill: "none", stroke: back ? "#c2410c" : "#5b7aa8",
			"stroke-width": known(w.n) ? 0.7 + 4 * w.n / most : 0.7, "stroke-dasharray": known(w.n) ? "none" : "3 3",
			onmousemove: e => tell(e, known(w.n) ? `taken ${si(w.n)} times${known(w.share) ? ", " + percent(w.share) + " of its block" : ""}` : "how often is not settled"),
			onmouseleave: () => { tip.hidden = true; }
		}));
	});
	g.blocks.forEach((b, i) => {
		const y = i * row + 5, strength = Math.sqrt((b.n || 0) / most);
		svg.append(draw("rect", {
			x: left, y, width: box, height: 20, rx: 3, fill: `hsl(24 90% ${97 - 35 * strength}%)`, stroke: "#998",
			onmousemove: e => tell(e, `${b.vaddr}, ${b.name}\n${b.text}\n${si(b.n)} executions`), onmouseleave: () => { tip.hidden = true; }
		}));
		const t = draw("text", { x: left + 6, y: y + 14, style: "fill:#201500;pointer-events:none;white-space:pre" });
		t.textContent = `${si(b.n).padStart(7)}  ${b.place || b.vaddr}  ${b.name}`.slice(0, 46);
		svg.append(t);
		if (b.loop) {
			const n = draw("text", { x: 4, y: y + 14, class: "dim" });
			n.textContent = b.loop;
			svg.append(n);
		}
	});
	return svg;
}

function regions() {
	const columns = [
		{ head: "share", value: r => r.share, show: percent },
		...(data.flame.has_insn ? [{ head: "raw", value: r => r.raw, show: si }, { head: "fixed", value: r => r.fixed, show: si }] : []),
		{ head: cycles_word, value: r => r.cycles, show: si },
		...(data.flame.has_insn ? [{ head: "IPC", value: r => r.ipc, show: ratio }] : []),
		{ head: "blocks", value: r => r.blocks },
		{ head: "samples", value: r => r.samples, show: si },
		{ head: "status", text: true, value: r => r.status, class: r => "text " + r.status },
		{ head: "region", text: true, value: r => r.name, class: () => "name text" },
		{ head: "why", text: true, value: r => r.why || "", class: () => "text small why" }];
	const trips = [
		{ head: "share", value: t => t.share, show: percent }, { head: "trips", value: t => t.trips, show: mean },
		{ head: "90% interval", value: t => width(t.trips_lo, t.trips_hi), show: (_, t) => range(t.trips_lo, t.trips_hi, mean) },
		{ head: "iterations", value: t => t.iterations, show: si }, { head: "entered", value: t => t.entries, show: si },
		{ head: "status", text: true, value: t => t.status || "", class: t => "text " + (t.status || "") },
		{ head: "loop", text: true, value: t => t.loop, class: () => "name text" }];
	return [make("h2", {}, "Regions"), table(columns, data.regions, { by: 0 }), make("h2", {}, "Loops"), table(trips, data.trips, { by: 0, filter: true }),
		...data.graphs.flatMap(g => [make("h2", {}, g.name), make("p", { class: "fact" },
			"blocks by address with their executions; ways forward at the right, back at the left, as thick as often they are taken"),
			make("div", { class: "wide" }, region_graph(g))])];
}

// ---- time ----

function seconds(ns) {
	return ns >= 1e9 ? `${(ns / 1e9).toFixed(2)} s` : `${(ns / 1e6).toFixed(2)} ms`;
}

function time_plot() {
	const t = data.time, width = 1000, height = 220, left = 60;
	if (!t.steps.length)
		return [make("p", {}, "No sample of this recording has a time.")];
	const x = i => left + (width - left - 10) * i / t.steps.length;
	const palette = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f", "#bab0ac"];
	const axis = (svg, top, label) => {
		svg.append(draw("line", { x1: left, x2: width, y1: height, y2: height, class: "axis" }), draw("line", { x1: left, x2: left, y1: 10, y2: height, class: "axis" }));
		const a = draw("text", { x: 4, y: 16 }), b = draw("text", { x: 4, y: height }), c = draw("text", { x: width - 90, y: height + 16 });
		a.textContent = label(top);
		b.textContent = label(0);
		c.textContent = seconds(t.step_ns * t.steps.length);
		svg.append(a, b, c);
	};
	const out = [], steps = t.steps;
	const ipc = steps.map(s => s.cycles > 0 && known(s.instructions) ? s.instructions / s.cycles : null);
	if (ipc.some(known)) {
		const top = Math.max(...ipc.filter(known)), svg = draw("svg", { viewBox: `0 0 ${width} ${height + 24}`, width, role: "img" });
		let d = "";
		ipc.forEach((v, i) => { if (known(v)) d += `${d && known(ipc[i - 1]) ? "L" : "M"}${x(i + 0.5)} ${height - (height - 14) * v / top} `; });
		svg.append(draw("path", { d, fill: "none", stroke: "#4e79a7", "stroke-width": 1.5 }));
		axis(svg, top, v => v.toFixed(2));
		out.push(make("h2", {}, "IPC"), make("p", { class: "fact" }, `instructions over cycles sampled in steps of ${si(t.step_ns / 1e3)} µs: a whole's IPC needs no correction`), svg);
	}
	const svg = draw("svg", { viewBox: `0 0 ${width} ${height + 24}`, width, role: "img" });
	const top = Math.max(...steps.map(s => s.regions.reduce((a, b) => a + b, 0)), 1), show = t.what === "time" ? seconds : si;
	steps.forEach((s, i) => {
		let y = height;
		s.regions.forEach((n, r) => {
			const h = (height - 14) * n / top;
			if (h > 0)
				svg.append(draw("rect", { x: x(i), y: y - h, width: Math.max((width - left - 10) / steps.length, 0.5), height: h, fill: palette[r],
					onmousemove: e => tell(e, `${t.regions[r]}\n${show(n)}`), onmouseleave: () => { tip.hidden = true; } }));
			y -= h;
		});
	});
	axis(svg, top, show);
	out.push(make("h2", {}, "Phases"), make("p", { class: "fact" }, `${t.what} sampled in each region`), svg,
		...t.regions.map((name, r) => steps.some(s => s.regions[r] > 0)
			? make("div", {}, make("span", { style: `color:${palette[r]}` }, "\u25a0 "), name) : "").filter(e => e));
	return out;
}

// ---- the page ----

const sections = { functions: ["Functions", () => [functions()]], flame: ["Flame graph", flame_section], code: ["Source", code_section],
	regions: ["Regions and loops", regions], time: ["Time", time_plot], facts: ["Recording", () => data.lines.map(l => make("p", { class: "fact" }, l))] };
const select = tabs(sections, id => {
	if (id === "code" && data.annotations.length && !by_id("code-body").childNodes.length)
		show_code(0);
	if (id === "flame")
		draw_flame();
});

heading(data.title, data.lines.slice(0, 1), data.doubts);
addEventListener("resize", () => { if (!by_id("tab-flame").hidden) draw_flame(); });
select(first_tab(sections));
