package figure

import (
	"cmp"
	"math"
	"slices"
)

// Percentile returns the smallest of the values, which are sorted, that p percent of them do not exceed (the nearest rank). It is an
// element and no mean, so that it is a time that somebody has waited. ok is false if there are none.
func Percentile[T cmp.Ordered](sorted []T, p float64) (value T, ok bool) {
	if len(sorted) == 0 {
		return value, false
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1], true
}

// Shares returns the fewest, the most, and the one by the other. Where nobody had anything, nothing was shared: NaN.
func Shares(holds []int) (fewest, most, ratio float64) {
	if len(holds) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	fewest, most = float64(slices.Min(holds)), float64(slices.Max(holds))
	return fewest, most, Ratio(fewest, most)
}

// Ratio returns value by base, NaN where that means nothing.
func Ratio(value, base float64) float64 {
	if base == 0 {
		return math.NaN()
	}
	return value / base
}

// A Summary is one figure over the repetitions. All are NaN if no repetition has it.
type Summary struct{ Median, Min, Max float64 }

// Summarise returns the median, the mean of the middle two if there are two, and the spread.
func Summarise(values []float64) Summary {
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	n := len(known)
	if n == 0 {
		return Summary{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(known)
	return Summary{(known[(n-1)/2] + known[n/2]) / 2, known[0], known[n-1]}
}

// Best returns, for every figure by itself, the best value of several sets.
func Best(sets []Set) Set {
	best := None()
	for _, id := range All() {
		for _, s := range sets {
			v, better := s[id], float64(id.Kind().Better)
			if better == 0 || math.IsNaN(v) {
				continue
			}
			if math.IsNaN(best[id]) || (v-best[id])*better > 0 {
				best[id] = v
			}
		}
	}
	return best
}

// Against returns the ratios of every figure of s to that of base.
func (s Set) Against(base Set) Set {
	ratios := None()
	for id := range s {
		ratios[id] = Ratio(s[id], base[id])
	}
	return ratios
}
