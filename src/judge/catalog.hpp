// The catalog of the papers' statements (`experiments/papers/*.json`, embedded at build time): what
// each paper says, in its own order, and where that is wrong. Claims name the statement that they
// judge by its id.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// How a statement is false as printed, the mildest first: a typo or a wrong constant, with which
/// replaced it stands; a condition that is missing, with which added it stands; an error.
enum class SlipClass { constant, condition, error };

/// What follows from a slip, the mildest first: nothing (harmless), another constant, another range
/// in which the statement holds, another conclusion.
enum class Consequence { harmless, constant, range, conclusion };
inline constexpr std::size_t consequences = 4;
/// "harmless", "changes a constant", "changes a range", "changes a conclusion".
const char* words_of(Consequence consequence);
/// The same as in the catalog: "harmless", "constant", "range", "conclusion".
const char* name_of(Consequence consequence);

/// Something that is wrong as printed, derived by hand.
struct Slip {
  std::string id;     // spectral/thm-3.7/coefficients
  std::string says;   // what is wrong, with the corrected form, in one sentence
  std::string where;  // statement, proof, definition or caption
  std::string type;   // constant, condition, error; notation: a typo that changes nothing
  Consequence consequence = Consequence::harmless;
  std::string place;                    // "eq. (3.13)", "page 7, caption"
  std::string printed, corrected;       // the passage as printed, and as it should be
  std::vector<std::string> derivation;  // lines, with a counterexample
  std::string answer;                   // of the authors, with its date; empty: none yet

  /// Only a slip in the statement itself makes it false as printed.
  bool in_statement() const { return where == "statement" && !is_notation(); }
  bool is_notation() const { return type == "notation"; }
  SlipClass how() const {
    return type == "error"       ? SlipClass::error
           : type == "condition" ? SlipClass::condition
                                 : SlipClass::constant;
  }
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
  std::vector<std::string> proof = {};     // why it is true, in lines; empty: no proof was read
  std::vector<std::string> uses = {};      // ids of the statements that its proof or terms use
  std::string in_later = {};               // in the paper's later version: same, mended or not-read
  // Of a figure or table: what the paper shows, what is seen here, why they differ.
  std::string shows = {}, seen = {}, differs = {};

  /// Theorems, lemmas, propositions, corollaries, remarks and examples have numbers of their own.
  bool is_numbered() const;
  const Slip* slip(std::string_view slip_id) const;
};

/// A version of a paper after the one that was read.
struct LaterVersion {
  std::string version, date;  // "v2", "2026-01-14"
  bool read = false;
};

/// Code that the authors published.
struct AuthorsCode {
  struct Run {
    std::string figure, seed, found;
  };
  std::string repository, commit, date;
  std::string says;                // where the paper names it
  std::vector<std::string> taken;  // what ranklab takes from it
  std::vector<Run> runs;           // what it does with the published seed
};

struct Paper {
  std::string key;     // "[Spectral]", as in "source" of presets and results
  std::string name;    // "Spectral"
  std::string anchor;  // "spectral": on the page, and as an argument of `ranklab papers`
  std::string authors, title;
  std::string version;  // "arXiv:2410.10609v2": the text whose numbers are meant
  std::vector<LaterVersion> later;
  std::optional<AuthorsCode> code;
  std::vector<PaperStatement> statements;

  /// "2410.10609v2".
  std::string number() const { return version.substr(version.find(':') + 1); }
};

/// The papers, in the order that their files give. Throws std::logic_error if the embedded catalog
/// is damaged.
const std::vector<Paper>& papers();

/// Whether the words name the paper: its key, name or anchor, in any case.
bool is_named(const Paper& paper, const std::string& words);
/// "thm 4.1" and "Fig. 3" as "Theorem 4.1" and "Figure 3"; other words as they are.
std::string in_full(const std::string& words);

/// Whether the words name the statement, in any case: its id, with or without the paper, or its
/// name. "Thm 2.6" and "eq. (16)" name "Theorem 2.6, eq. (16)".
bool is_named(const PaperStatement& statement, const std::string& words);

/// The index of the paper with this key, or papers().size().
std::size_t paper_of(std::string_view key);

struct CatalogPlace {
  std::size_t paper = 0, statement = 0;
};

/// The place of a statement in the catalog; null if no statement has this id.
const CatalogPlace* find_place(std::string_view statement_id);
const PaperStatement* find_statement(std::string_view statement_id);

/// The statements whose proof or terms use this one, in the order of the catalog.
std::vector<const PaperStatement*> users_of(const PaperStatement& statement);

/// "the text that was read is v1; v2 of 2026-01-14 exists and was not read". Empty for a paper
/// without a later version.
std::string versions_read(const Paper& paper);

/// "Spectral" for a statement of [Spectral]; empty if the catalog does not have it.
std::string paper_of_statement(std::string_view statement_id);

}  // namespace ranklab
