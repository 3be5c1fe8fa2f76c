// The catalog of the papers' statements (`experiments/papers/*.json`, embedded at build time): what
// each paper says, in its own order, and where that is wrong. Claims name the statement that they
// judge by its id.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// Something that is wrong as printed, derived by hand.
struct Slip {
  std::string id;     // spectral/thm-3.7/coefficients
  std::string says;   // what is wrong, with the corrected form, in one sentence
  std::string where;  // statement, proof, definition or caption
  std::string type;   // constant: a typo or a wrong constant; error: the sentence is false
  std::vector<std::string> derivation;  // lines, with a counterexample

  bool in_proof() const { return where == "proof"; }
  bool is_typo() const { return type == "constant"; }
};

/// A numbered statement, a figure, a table, a displayed equation or a sentence of a paper.
struct PaperStatement {
  std::string id;       // spectral/thm-3.7
  std::string name;     // Theorem 3.7
  std::string section;  // 3.2.1
  std::string
      type;  // theorem, lemma, proposition, corollary, remark, equation, figure, table, text
  std::string says;         // one sentence of ours, with the formula as printed
  std::string hypotheses;   // empty: none
  std::vector<Slip> slips;  // the main one first; empty: nothing is wrong
  std::string not_judged;   // why no claim judges it; empty: claims do
  std::string scale;        // the scale at which a figure of trained networks is looked for
  std::vector<std::string> pictures = {};  // the presets whose pictures a page shows here

  /// Theorems, lemmas, propositions, corollaries, remarks and examples have numbers of their own.
  bool is_numbered() const;
  const Slip* slip(std::string_view slip_id) const;
};

struct Paper {
  std::string key;     // "[Spectral]", as in "source" of presets and results
  std::string name;    // "Spectral"
  std::string anchor;  // "spectral": on the page, and as an argument of `ranklab papers`
  std::string authors, title;
  std::string version;  // "arXiv:2410.10609v2": the text whose numbers are meant
  std::vector<PaperStatement> statements;
};

/// The three papers. Throws std::logic_error if the embedded catalog is damaged.
const std::vector<Paper>& papers();

/// Whether the words name the paper: its key, name or anchor, in any case.
bool is_named(const Paper& paper, const std::string& words);
/// "thm 4.1" and "Fig. 3" as "Theorem 4.1" and "Figure 3"; other words as they are.
std::string in_full(const std::string& words);

/// Whether the words name the statement, in any case: its id, with or without the paper, or its
/// name. "Thm 2.6" names "Theorem 2.6, eq. (16)".
bool is_named(const PaperStatement& statement, const std::string& words);

/// The index of the paper with this key, or papers().size().
std::size_t paper_of(std::string_view key);

struct CatalogPlace {
  std::size_t paper = 0, statement = 0;
};

/// The place of a statement in the catalog; null if no statement has this id.
const CatalogPlace* find_place(std::string_view statement_id);
const PaperStatement* find_statement(std::string_view statement_id);

/// "Spectral" for a statement of [Spectral]; empty if the catalog does not have it.
std::string paper_of_statement(std::string_view statement_id);

}  // namespace ranklab
