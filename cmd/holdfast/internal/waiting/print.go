package waiting

import "time"

// A printer is the goroutine that prints, and what it remembers.
type printer struct {
	*Display
	told  map[key]time.Time // when a plain line was printed about it
	guard map[key]bool      // its guard was explained
	shown bool              // a status line is on the screen
}

func (d *Display) print() {
	p := &printer{Display: d, told: make(map[key]time.Time), guard: make(map[key]bool)}
	defer close(d.ended)
	defer p.wipe()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-d.quit:
			return
		case <-d.news:
		case <-timer.C:
		}
		timer.Reset(p.step())
	}
}

// step prints what there is to say now, and returns when it is worth looking again.
func (p *printer) step() time.Duration {
	p.mu.Lock()
	problems := p.problems
	p.problems = nil
	var current *wait
	if p.wait != nil {
		copied := *p.wait
		current = &copied
	}
	over := p.over
	p.mu.Unlock()
	if over { // quit and other news may come together
		return every
	}
	for _, problem := range problems {
		p.voice.Notef("%v; trying again", problem)
	}
	if current == nil {
		p.wipe()
		return every
	}
	p.explainGuard(current)
	if waited := time.Since(current.since); waited < patience {
		return patience - waited
	}
	p.tell(current)
	if p.screen == nil { // it was said once, or never will be
		return rarely
	}
	return every
}

// explainGuard says once why nobody gets the lock, though nobody has it.
func (p *printer) explainGuard(w *wait) {
	if text := w.describeGuard(time.Now()); text != "" && !p.guard[w.key] {
		p.guard[w.key] = true
		p.voice.Notef("%s", text)
	}
}

// tell shows how the wait stands, in whatever way can be shown now.
func (p *printer) tell(w *wait) {
	now := time.Now()
	if p.screen != nil && p.screen.InPlace() {
		p.voice.Status("holdfast: "+w.describe(now), columns(p.screen.Width()))
		p.shown = true
		return
	}
	p.leave()
	last, before := p.told[w.key]
	switch {
	case before && (p.screen == nil || now.Sub(last) < rarely):
		return
	case p.screen == nil && !p.verbose:
		return
	}
	p.told[w.key] = now
	p.voice.Notef("%s", w.describe(now))
}

// columns is how wide the status line may be. In a full line the terminal might go to the next one, and it shows what is typed behind
// ours: a ^C or ^Z takes two columns, which would push a line on that nobody wipes.
func columns(width int) int {
	if width < 4 {
		width = 80
	}
	return width - 3
}

// wipe takes the status line away, if it is still ours to take away.
func (p *printer) wipe() {
	switch {
	case !p.shown:
	case p.screen.InPlace():
		p.voice.Status("", 0)
		p.shown = false
	default:
		p.leave()
	}
}

// leave forgets a status line that was shown before the program went to the background: other lines stand below it now.
func (p *printer) leave() {
	if p.shown {
		p.voice.Forget()
		p.shown = false
	}
}
