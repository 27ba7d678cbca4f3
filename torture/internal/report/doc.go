// Package report shows what a torture run came to: as text, as JSON, as one HTML page with a timeline to look at, as the page
// docs/proof.md, and while it runs as a line on a terminal.
//
// It decides nothing. A [Document] is filled by whoever ran the rounds, with the figures and the violations of package check; all
// outputs say the same numbers. What they mean stands below every table, in the words of one list: see [Meanings].
//
//   - [Text] is for a terminal: aligned, without colours, as wide as it is told.
//   - [JSON] writes the document as it is, [ReadJSON] reads it back: an interrupted run goes on with it, see [Merge].
//   - [HTML] is one file that loads nothing, and that a browser may be told to let load nothing: its style and its script are allowed by
//     their sums alone. A round is drawn when it comes into view, so a page may have many; every hold takes some 50 bytes of it.
//   - [Markdown] is docs/proof.md.
//   - A [Progress] is the line.
//
// Names of locks, stores and faults, and what a violation says, can be anything: on a terminal what is not printable is escaped, in HTML and
// Markdown what would be markup is.
package report
