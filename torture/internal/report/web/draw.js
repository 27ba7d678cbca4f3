// Drawing: only what is in view, and bars that would share a pixel as one.

const gutter = 130; // for the names of lanes

function theme() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue("--" + name).trim();
  return Object.fromEntries(["back", "text", "faint", "line", "band", "bad", "fault", "faultedge", "stop", "light", "ink", "link"].map((n) => [n, of(n)]));
}

// clip shortens a text to so many pixels.
function clip(g, text, width) {
  if (g.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (g.measureText(text.slice(0, middle) + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  return low ? text.slice(0, low) + "…" : "";
}

function hatch(g, x, y, w, h, colour, alpha = 1) {
  g.save();
  g.globalAlpha = alpha;
  g.beginPath();
  g.rect(x, y, w, h);
  g.clip();
  g.strokeStyle = colour;
  g.lineWidth = 1;
  g.beginPath();
  for (let d = Math.max(x - h, -h); d < Math.min(x + w, 10000); d += 5) {
    g.moveTo(d, y + h);
    g.lineTo(d + h, y);
  }
  g.stroke();
  g.restore();
}

function drawAxis(g, view, width, height, t) {
  const wanted = ((view.to - view.from) / Math.max(1, width - gutter)) * 110;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= wanted);
  g.fillStyle = t.faint;
  g.strokeStyle = t.line;
  g.lineWidth = 1;
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const x = Math.round(view.x(at)) + 0.5;
    g.beginPath();
    g.moveTo(x, 18);
    g.lineTo(x, height);
    g.stroke();
    g.fillText(inMs(at), x + 3, 9);
  }
}

function drawBar(g, item, x, y, w, h, t) {
  if (item.kind === "fault") {
    g.fillStyle = t.fault;
    g.fillRect(x, y, w, h);
    g.fillStyle = t.faultedge;
    g.fillRect(x, y, 1.5, h);
    if (w > 24) g.fillText(clip(g, item.name, w - 6), Math.max(x, gutter) + 4, y + h / 2);
  } else if (item.kind === "stop") {
    hatch(g, x, y, w, h, t.stop, 0.5);
    g.fillStyle = t.text;
    if (w > 24) g.fillText(clip(g, `process ${item.process}`, w - 6), Math.max(x, gutter) + 4, y + h / 2);
  } else {
    g.fillStyle = `hsl(${item.hue}, 60%, ${t.light})`;
    g.fillRect(x, y, w, h);
  }
}

// drawHold adds to a bar that is wide enough what can be seen on it.
function drawHold(g, view, item, x, y, w, h, t) {
  for (const s of item.stopped) {
    const from = view.x(Math.max(s.from, item.from)), to = view.x(Math.min(s.to, item.to));
    hatch(g, from, y, Math.max(1, to - from), h, t.ink, 0.45); // what is written on the bar stays readable
  }
  if (w > 34) {
    g.fillStyle = t.ink;
    const left = Math.max(x, gutter);
    g.fillText(clip(g, `${item.process}/${item.worker} #${item.token}`, x + w - left - 6), left + 3, y + h / 2);
  }
}

function drawMark(g, item, x, y, h, t) {
  g.fillStyle = g.strokeStyle = item.kind === "violation" ? t.bad : item.kind === "lost" ? t.faultedge : t.text;
  g.lineWidth = 2;
  g.beginPath();
  if (item.kind === "violation") {
    g.moveTo(x - 6, y);
    g.lineTo(x + 6, y);
    g.lineTo(x, y + 10);
    g.fill();
    g.fillRect(x - 0.5, y, 1, h);
  } else if (item.kind === "lost") {
    const m = y + h / 2;
    g.moveTo(x - 4, m - 4);
    g.lineTo(x + 4, m + 4);
    g.moveTo(x - 4, m + 4);
    g.lineTo(x + 4, m - 4);
    g.stroke();
  } else {
    g.moveTo(x, y);
    g.lineTo(x, y + h);
    g.moveTo(x - 4, y + 3);
    g.lineTo(x + 4, y + 3);
    g.stroke();
  }
}

function drawLane(g, view, lane, width, t) {
  lane.rows.forEach((row, index) => {
    const y = lane.y + index * lane.height, h = lane.height - 2;
    let drawn = -1; // the last pixel that a narrow bar has
    for (let i = firstAfter(row, view.from); i < row.length && row[i].from < view.to; i++) {
      const item = row[i], x = view.x(item.from), w = Math.max(1, view.x(item.to) - x);
      if (w <= 1 && Math.floor(x) === drawn) continue;
      drawn = Math.floor(x);
      drawBar(g, item, x, y, w, h, t);
      if (item.kind === "hold" && w > 2) drawHold(g, view, item, x, y, w, h, t);
    }
  });
  const tall = lane.rows.length * lane.height - 2;
  g.strokeStyle = t.bad;
  g.lineWidth = 2;
  for (const o of lane.overlaps || []) {
    if (o.to >= view.from && o.from <= view.to) g.strokeRect(view.x(o.from), lane.y, Math.max(2, view.x(o.to) - view.x(o.from)), tall);
  }
  for (const m of lane.marks || []) {
    if (m.from >= view.from && m.from <= view.to) drawMark(g, m, view.x(m.from), lane.y, tall, t);
  }
}

// draw shows a view of a round on a canvas that is so wide.
function draw(g, round, view, width, chosen, laneChosen) {
  const t = theme(), height = round.height;
  g.clearRect(0, 0, width, height);
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  g.fillStyle = t.band;
  for (const lane of round.lanes) if (lane.lock % 2 === 0) g.fillRect(gutter, lane.y - 2, width - gutter, lane.rows.length * lane.height + 2);
  g.save();
  g.beginPath();
  g.rect(gutter, 0, width - gutter, height);
  g.clip();
  g.fillStyle = t.fault;
  for (const f of round.faults) {
    if (!f.process && f.to >= view.from && f.from <= view.to) g.fillRect(view.x(f.from), 20, Math.max(1, view.x(f.to) - view.x(f.from)), height);
  }
  drawAxis(g, view, width, height, t);
  for (const lane of round.lanes) drawLane(g, view, lane, width, t);
  if (chosen) {
    const lane = round.lanes[laneChosen];
    g.strokeStyle = t.link;
    g.lineWidth = 2;
    g.strokeRect(view.x(chosen.from) - 2, lane.y - 2, Math.max(4, view.x(chosen.to) - view.x(chosen.from) + 4), lane.rows.length * lane.height + 2);
  }
  g.restore();
  round.lanes.forEach((lane, i) => {
    g.fillStyle = i === laneChosen ? t.link : t.text;
    g.fillText(clip(g, lane.label, gutter - 10), 2, lane.y + Math.min(lane.height, lane.rows.length * lane.height) / 2 - 1);
  });
}
