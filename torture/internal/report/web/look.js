// Looking around: a view of a round for each canvas that has come into sight.

const data = JSON.parse(document.getElementById("data").textContent);
const tip = document.getElementById("tip");

class Look {
  constructor(box) {
    this.round = model(data[Number(box.dataset.round)]);
    this.canvas = box.querySelector("canvas");
    this.said = box.querySelector(".chosen");
    this.lane = this.round.lanes.findIndex((l) => l.lock === 0);
    this.chosen = null;
    this.all();
    this.canvas.style.height = this.round.height + "px";
    new ResizeObserver(() => this.later()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.later());
    box.querySelector(".buttons").addEventListener("click", (e) => this.act(e.target.dataset.do));
    this.listen();
  }

  get width() { return Math.max(gutter + 10, this.canvas.clientWidth); }
  x(time) { return gutter + ((time - this.from) / (this.to - this.from)) * (this.width - gutter); }
  time(x) { return this.from + ((x - gutter) / (this.width - gutter)) * (this.to - this.from); }

  // show changes the view; it stays inside the round, and shows 10 µs at least.
  show(from, to) {
    const long = Math.min(Math.max(to - from, 10), this.round.lasted);
    this.from = Math.min(Math.max(from, 0), this.round.lasted - long);
    this.to = this.from + long;
    this.later();
  }
  all() { this.show(0, this.round.lasted); }
  // middle is what zooming without a pointer keeps in its place: what is chosen, if it can be seen.
  middle() { return this.chosen && this.chosen.from >= this.from && this.chosen.from <= this.to ? this.chosen.from : (this.from + this.to) / 2; }
  zoom(factor, at = this.middle()) { this.show(at - (at - this.from) * factor, at + (this.to - at) * factor); }
  move(share) { this.show(this.from + share * (this.to - this.from), this.to + share * (this.to - this.from)); }

  later() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      const ratio = window.devicePixelRatio || 1, g = this.canvas.getContext("2d");
      this.canvas.width = Math.round(this.width * ratio);
      this.canvas.height = Math.round(this.round.height * ratio);
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      const view = { from: this.from, to: this.to, x: (t) => this.x(t) };
      draw(g, this.round, view, this.width, this.chosen, this.lane);
    });
  }

  // at is what a place of the canvas shows: marks first, then overlaps, then bars.
  at(x, y) {
    const lane = this.round.lanes.find((l) => y >= l.y - 2 && y < l.y + l.rows.length * l.height + 2);
    if (!lane || x < gutter) return null;
    const near = (lane.marks || []).filter((m) => Math.abs(this.x(m.from) - x) <= 6);
    if (near.length) return near.find((m) => m.kind === "violation") || near[0];
    const row = lane.rows[Math.min(lane.rows.length - 1, Math.max(0, Math.floor((y - lane.y) / lane.height)))];
    for (let i = firstAfter(row, this.time(x - 2)); i < row.length && row[i].from <= this.time(x + 1); i++) {
      if (this.x(row[i].to) >= x - 2) return row[i];
    }
    return null;
  }

  // choose selects something, says what it is, and brings it into view.
  choose(item) {
    this.chosen = item;
    this.said.textContent = item ? describe[item.kind](item, this.round).replaceAll("\n", "; ") : "";
    if (!item) return this.later();
    const lane = this.round.lanes.findIndex((l) => l.rows.some((r) => r.includes(item)) || (l.marks || []).includes(item) || (l.overlaps || []).includes(item));
    if (lane >= 0) this.lane = lane;
    const long = this.to - this.from;
    if (item.from < this.from || item.to > this.to) this.show(item.from - long / 3, item.from + (2 * long) / 3);
    this.later();
  }

  // step goes to what is before or behind what is chosen, or the beginning of the view.
  step(items, by) {
    if (!items.length) return;
    const start = this.chosen ? this.middle() : this.from;
    let i = items.indexOf(this.chosen);
    if (i >= 0) i += by;
    else if (by > 0) i = Math.max(0, items.findIndex((m) => m.from >= start));
    else i = items.findLastIndex((m) => m.from <= start);
    this.choose(items[(i + items.length) % items.length]);
  }

  inLane() {
    const lane = this.round.lanes[this.lane];
    return lane ? [...lane.rows.flat(), ...(lane.marks || [])].sort((a, b) => a.from - b.from) : [];
  }

  turn(by) {
    this.lane = (this.lane + by + this.round.lanes.length) % this.round.lanes.length;
    this.chosen = null;
    this.said.textContent = `${this.round.lanes[this.lane].label}; to step through: ${this.inLane().length}`;
    this.later();
  }

  act(what) {
    const does = {
      in: () => this.zoom(0.5), out: () => this.zoom(2), left: () => this.move(-0.25), right: () => this.move(0.25), all: () => this.all(),
      next: () => this.step(this.round.marks, 1), previous: () => this.step(this.round.marks, -1),
      behind: () => this.step(this.inLane(), 1), before: () => this.step(this.inLane(), -1), down: () => this.turn(1), up: () => this.turn(-1),
      nothing: () => { tip.hidden = true; this.choose(null); },
    };
    does[what]?.();
    return what in does;
  }

  listen() {
    const keys = { "+": "in", "=": "in", "-": "out", "−": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Home: "all", n: "next", p: "previous",
      ".": "behind", ",": "before", ArrowDown: "down", ArrowUp: "up", Escape: "nothing" };
    const c = this.canvas;
    c.addEventListener("keydown", (e) => {
      if (!e.ctrlKey && !e.metaKey && !e.altKey && this.act(keys[e.key])) e.preventDefault();
    });
    c.addEventListener("wheel", (e) => {
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.move(e.deltaX / 1000);
      else if (e.ctrlKey || e.metaKey || document.activeElement === c) this.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300))), this.time(e.offsetX));
      else return; // the page scrolls
      e.preventDefault();
    }, { passive: false });
    let drag = null;
    c.addEventListener("pointerdown", (e) => {
      drag = { x: e.offsetX, from: this.from, to: this.to, moved: false };
      c.setPointerCapture(e.pointerId);
    });
    c.addEventListener("pointermove", (e) => {
      if (!drag) return this.hover(e);
      const by = ((drag.x - e.offsetX) / (this.width - gutter)) * (drag.to - drag.from);
      drag.moved ||= Math.abs(drag.x - e.offsetX) > 3;
      if (drag.moved) this.show(drag.from + by, drag.to + by);
    });
    c.addEventListener("pointerup", (e) => {
      if (drag && !drag.moved) this.choose(this.at(e.offsetX, e.offsetY));
      drag = null;
    });
    c.addEventListener("pointercancel", () => (drag = null));
    c.addEventListener("pointerleave", () => (tip.hidden = true));
    c.addEventListener("dblclick", (e) => this.zoom(0.4, this.time(e.offsetX)));
  }

  hover(e) {
    const item = this.at(e.offsetX, e.offsetY);
    tip.hidden = !item;
    if (!item) return;
    tip.textContent = describe[item.kind](item, this.round);
    tip.style.left = Math.max(4, Math.min(e.clientX + 14, window.innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = (e.clientY + 18 + tip.offsetHeight > window.innerHeight ? e.clientY - tip.offsetHeight - 10 : e.clientY + 18) + "px";
  }
}

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    seen.unobserve(entry.target);
    new Look(entry.target);
  }
}, { rootMargin: "200px" });
document.querySelectorAll(".timeline").forEach((box) => seen.observe(box));

// A link to a round opens it.
function open() {
  const round = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (round instanceof HTMLDetailsElement) round.open = true;
}
addEventListener("hashchange", open);
open();
