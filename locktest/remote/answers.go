package remote

import (
	"errors"
	"fmt"

	"holdfast.dev/driver"
)

// carryOut carries out every call but acquire. Its context is not the connection's: the server's rule 1.
func (p *peer) carryOut(c *call) *reply {
	switch c.Op {
	case opRelease:
		return p.release(c)
	case opRenew:
		return p.renew(c)
	case opGuarantees:
		g, err := p.store.Guarantees(p.life)
		return &reply{Guarantees: g, Err: fail(err)}
	case opIdentity:
		id, err := p.store.Identity(p.life)
		return &reply{Identity: id, Err: fail(err)}
	case opInspect, opList:
		return p.inspect(c)
	case opBreak:
		breaker, ok := p.store.(driver.Breaker)
		if !ok {
			return unsupported("Break")
		}
		return &reply{Err: fail(breaker.Break(p.life, c.Break))}
	}
	return unsupported(fmt.Sprint("operation ", c.Op))
}

func unsupported(what string) *reply {
	return &reply{Err: fail(fmt.Errorf("%s: %w", what, driver.ErrUnsupported))}
}

func (p *peer) release(c *call) *reply {
	r, err := c.Request.unpack()
	if err == nil {
		err = p.store.Release(p.life, r)
	}
	if err == nil || errors.Is(err, driver.ErrGone) {
		p.leases.Delete(c.Request.key())
	}
	return &reply{Err: fail(err)}
}

// renew renews the lease of an attempt's grant. A lease that is not known is gone: its hold was released, or granted by a server
// that has died since.
func (p *peer) renew(c *call) *reply {
	entry, _ := p.leases.Load(c.Request.key())
	lease, ok := entry.(driver.Lease)
	if !ok {
		return &reply{Err: fail(driver.ErrGone)}
	}
	ttl, err := lease.Renew(p.life, c.Request.TTL)
	return &reply{TTL: ttl, Err: fail(err)}
}

func (p *peer) inspect(c *call) *reply {
	inspector, ok := p.store.(driver.Inspector)
	if !ok {
		return unsupported("Inspect")
	}
	if c.Op == opInspect {
		info, err := inspector.Inspect(p.life, c.Name, c.Mode)
		if err != nil {
			return &reply{Err: fail(err)}
		}
		return &reply{Infos: []*driver.Info{info}}
	}
	answer := new(reply)
	for info, err := range inspector.List(p.life, c.Name) {
		if err != nil {
			answer.Err = fail(err)
			break
		}
		answer.Infos = append(answer.Infos, info)
	}
	return answer
}
