// The model of a round: lanes, each of rows of items that do not overlap, so that what is at a place is found by halving.
// Times are microseconds from the beginning of the round.

const inMs = (us) => (us / 1000).toLocaleString("en", { maximumFractionDigits: 3 }) + " ms";

// pack puts items into as few rows as it takes.
function pack(items) {
  const rows = [];
  items.sort((a, b) => a.from - b.from || a.to - b.to);
  for (const item of items) {
    let row = rows.find((r) => r[r.length - 1].to <= item.from);
    if (!row) rows.push((row = []));
    row.push(item);
  }
  return rows.length ? rows : [[]];
}

const describe = {
  hold: (i, r) => `${r.locks[i.lock]}: token ${i.token}\n${i.who}, from ${inMs(i.from)} to ${inMs(i.to)} (${inMs(i.to - i.from)})` +
    (i.overlap ? "\nsomebody else believed to hold it, too" : "") + (i.told >= 0 ? `\nloss told at ${inMs(i.told)}${i.reason ? ": " + i.reason : ""}` : ""),
  fault: (i) => `fault ${i.name}${i.process ? ` of process ${i.process}` : ""}\nfrom ${inMs(i.from)} ` +
    (i.open ? "until the end of the round" : `to ${inMs(i.to)} (${inMs(i.to - i.from)})`),
  stop: (i) => `process ${i.process} stands still\nfrom ${inMs(i.from)} to ${inMs(i.to)} (${inMs(i.to - i.from)})`,
  death: (i) => `process ${i.process} is killed at ${inMs(i.from)}`,
  lost: (i, r) => `${r.locks[i.lock]}: ${i.who} is told at ${inMs(i.from)} that it has lost token ${i.token}${i.reason ? "\n" + i.reason : ""}`,
  overlap: (i, r) => `${r.locks[i.lock]}: two believed to hold it\nfrom ${inMs(i.from)} to ${inMs(i.to)} (${inMs(i.to - i.from)})`,
  violation: (i, r) => `violation (${i.checker})${i.lock >= 0 ? " of " + r.locks[i.lock] : ""} at ${inMs(i.from)}\n${i.what}`,
};

// model makes lanes of a round's data, as html.go writes it.
function model(data) {
  const colours = new Map(); // by process and worker, in the order in which they come
  const colour = (who) => colours.get(who) ?? colours.set(who, (colours.size * 137.508) % 360).get(who);
  const stops = data.stops.map(([process, from, to]) => ({ kind: "stop", process, from, to }));
  const deaths = data.deaths.map(([process, at]) => ({ kind: "death", process, from: at, to: at }));
  const perProcess = new Map();
  for (const s of stops) perProcess.set(s.process, [...(perProcess.get(s.process) || []), s]);
  const holds = data.holds.map(([lock, from, to, token, worker, process, told, reason, overlap]) => {
    const who = `worker ${worker} of process ${process}`;
    const stopped = (perProcess.get(process) || []).filter((s) => s.from < to && from < s.to);
    return { kind: "hold", lock, from, to, token, worker, process, told, reason: data.reasons[reason], overlap: !!overlap, who, hue: colour(who), stopped };
  });
  const losses = holds.filter((h) => h.told >= 0).map((h) => ({ ...h, kind: "lost", from: h.told, to: h.told }));
  const overlaps = data.overlaps.map(([lock, from, to]) => ({ kind: "overlap", lock, from, to }));
  const violations = data.violations.map(([at, lock, checker, what]) => ({ kind: "violation", from: at, to: at, lock, checker, what }));
  const faults = data.faults.map(([name, from, to, process, open]) => ({ kind: "fault", name, from, to, process, open: !!open }));

  const lanes = [];
  if (faults.length) lanes.push({ label: "faults", rows: pack(faults.slice()), height: 18 });
  if (stops.length || deaths.length) lanes.push({ label: "processes", rows: pack(stops.slice()), height: 18, marks: deaths });
  data.locks.forEach((label, lock) => {
    const here = (i) => i.lock === lock;
    lanes.push({ label, lock, rows: pack(holds.filter(here)), height: 18, overlaps: overlaps.filter(here), marks: [...losses.filter(here), ...violations.filter(here)] });
  });
  const nowhere = violations.filter((v) => !(v.lock >= 0));
  if (nowhere.length) lanes.push({ label: "the round", rows: [[]], height: 18, marks: nowhere });

  let y = 24; // below the axis
  for (const lane of lanes) {
    lane.y = y;
    y += lane.rows.length * lane.height + 5;
  }
  const worst = [...violations, ...overlaps];
  const marks = (worst.length ? worst : [...losses, ...deaths]).sort((a, b) => a.from - b.from); // to step through; losses can be many
  return { locks: data.locks, lasted: Math.max(1, data.lasted), lanes, faults, marks, height: y + 4 };
}

// firstAfter is the index of the first item of a row that ends after a time.
function firstAfter(row, time) {
  let low = 0, high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle].to <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
